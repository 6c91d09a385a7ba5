/** The console of the operator: the session that a link opens, and the menu around each page. */
import { Center, Code, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useForgottenPages } from '../api/queries';
import { Frame } from '../app/Frame';
import { useLanguage } from '../app/language';
import { Loading, Problem } from '../app/Page';
import { endSession, enter, overviewQuery, tenantsWith, useSession } from './queries';
import { useWords } from './words';

export function Operator() {
  const session = useSession();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  if (path === '/enter') return <Enter />;
  if (session === null) return <NoSession />;
  return <OperatorFrame operator={session.operator} />;
}

/** Opens the session of the link in the address, which leaves the address. */
function Enter() {
  const navigate = useNavigate();
  const hash = useRouterState({ select: ({ location }) => location.hash });
  const [token, setToken] = useState(hash);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (hash === '') return;
    setToken(hash);
    setError(undefined);
    void navigate({ to: '/enter', replace: true });
    enter(hash).then(() => navigate({ to: '/operator', replace: true }), setError);
  }, [hash, navigate]);
  if (token === '') return <NoSession />;
  if (error !== undefined) return <NoSession error={error} />;
  return <Loading />;
}

function NoSession({ error }: { readonly error?: unknown }) {
  const { session } = useWords();
  useForgottenPages();
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder p="xl" w="32rem" maw="100%">
        <Stack>
          <Title order={1}>{session.none}</Title>
          {error !== undefined && <Problem error={error} />}
          <Text>{session.how}</Text>
          <Code block>npx dynamic-assets console</Code>
        </Stack>
      </Paper>
    </Center>
  );
}

const PAGES = [
  ['g o', '/operator', 'overview'],
  ['g t', '/operator/tenants', 'tenants'],
  ['g l', '/operator/log', 'log'],
] as const;

function OperatorFrame({ operator }: { readonly operator: string }) {
  const { keys } = useLanguage().text;
  const { menu, opening, title } = useWords();
  const navigate = useNavigate();
  const { checks = [], parked = [] } = useQuery(overviewQuery).data ?? {};
  const troubles = parked.length + checks.filter(({ ok }) => !ok).length;
  const entries = PAGES.map(([, to, name]) => ({
    to,
    label: menu[name],
    ...(name === 'overview' && { isExact: true, ...(troubles > 0 && { count: troubles }) }),
  }));
  function goTo(to: string, hash = '') {
    return () => void navigate({ to, hash });
  }
  const find = async (search: string) => {
    const actions = (await tenantsWith(search)).data.map(({ name, display_name: description }) => ({
      id: `tenant ${name}`,
      label: name,
      description,
      onClick: goTo(`/operator/tenants/${name}`),
    }));
    return [{ label: menu.tenants, actions }];
  };
  return (
    <Frame
      find={find}
      finds={menu.finds}
      guide="/docs/operations"
      title={title}
      actions={[{ id: 'new', label: opening.title, onClick: goTo('/operator/tenants', opening.title) }]}
      groups={[{ label: '', entries }]}
      person={operator}
      ofPerson={[{ id: 'end', label: menu.end, onClick: endSession }]}
      keys={Object.fromEntries(PAGES.map(([keys, to]) => [keys, goTo(to)]))}
      keyRows={[
        ...PAGES.map(([keys, , name]) => [keys, menu[name]] as const),
        ...Object.entries(keys.rows).slice(0, 3),
      ]}
    />
  );
}
