/** The console of the operator: the session that a link opens, and the menu around each page. */
import { Center, Code, Menu, Paper, Stack, Text, Title, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { useForgottenPages } from '../api/queries';
import { Appearance, Frame, type MenuGroup } from '../app/Frame';
import { useLanguage } from '../app/language';
import { Loading, Problem } from '../app/Page';
import { endSession, enter, useSession } from './client';
import { overviewQuery, projectionsQuery } from './queries';
import { useWords } from './words';

export function Operator() {
  const session = useSession();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  if (path === '/enter') return <Enter />;
  if (session === undefined) return <NoSession />;
  return (
    <OperatorFrame operator={session.operator}>
      <Outlet />
    </OperatorFrame>
  );
}

/** Opens the session of the link in the address, which leaves the address. */
function Enter() {
  const words = useWords();
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
  if (token === '') return <NoSession error={new Error(words.session.incomplete)} />;
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
          <Title order={1} size="h2">
            {session.none}
          </Title>
          {error !== undefined && <Problem error={error} />}
          <Text>{session.how}</Text>
          <Code block>npx dynamic-assets console</Code>
        </Stack>
      </Paper>
    </Center>
  );
}

function OperatorFrame({ operator, children }: { readonly operator: string; readonly children: ReactNode }) {
  const { text } = useLanguage();
  const words = useWords();
  const { menu, keys } = words;
  const navigate = useNavigate();
  const troubles = useQuery(overviewQuery).data?.checks.filter(({ ok }) => !ok).length ?? 0;
  const parked = useQuery(projectionsQuery).data?.parked.length ?? 0;
  const groups: readonly MenuGroup[] = [
    {
      label: menu.watch,
      entries: [
        { to: '/operator', label: menu.overview, isExact: true, ...(troubles > 0 && { count: troubles }) },
        { to: '/operator/tenants', label: menu.tenants },
        { to: '/operator/projections', label: menu.projections, ...(parked > 0 && { count: parked }) },
        { to: '/operator/log', label: menu.log },
      ],
    },
  ];
  const goTo = (to: string) => () => void navigate({ to });
  return (
    <Frame
      title={words.title}
      groups={groups}
      person={
        <Menu position="bottom-end" width={260}>
          <Menu.Target>
            <UnstyledButton>
              <Text size="sm" maw="12rem" truncate>
                <bdi>{operator}</bdi>
              </Text>
            </UnstyledButton>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={endSession}>{menu.end}</Menu.Item>
            <Menu.Divider />
            <Appearance />
          </Menu.Dropdown>
        </Menu>
      }
      keys={{
        'g o': goTo('/operator'),
        'g t': goTo('/operator/tenants'),
        'g r': goTo('/operator/projections'),
        'g l': goTo('/operator/log'),
      }}
      keyRows={[
        ['g o', keys.overview],
        ['g t', keys.tenants],
        ['g r', keys.projections],
        ['g l', keys.log],
        ['j', text.keys.nextRow],
        ['k', text.keys.previousRow],
        ['Enter', text.keys.open],
      ]}
    >
      {children}
    </Frame>
  );
}
