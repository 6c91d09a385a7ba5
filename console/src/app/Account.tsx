/** The person's own page: where they are signed in, and their password. */
import { Badge, Group, Paper, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, bodyOf, dataOf } from '../api/client';
import { Act, Confirm } from './Dialogs';
import { useText, When } from './language';
import { Loaded, Page } from './Page';
import { PasswordForm } from './Password';

const readSessions = () => dataOf(api.GET('/api/v1/platform/sessions'));
const endOthers = () => bodyOf(api.DELETE('/api/v1/platform/sessions'));
const end = (session_id: string) =>
  bodyOf(api.DELETE('/api/v1/platform/sessions/{session_id}', { params: { path: { session_id } } }));

export function Account() {
  const { account: text, menu, signIn } = useText();
  const sessions = useQuery({ queryKey: ['sessions'], queryFn: readSessions });
  return (
    <Page title={text.title}>
      <Group justify="space-between" maw="44rem">
        <Title order={2}>{text.sessions}</Title>
        {sessions.data?.some((each) => !each.current) && <Confirm label={text.endOthers} act={endOthers} />}
      </Group>
      <Loaded query={sessions}>
        {(all) =>
          all.map(({ id, network, opened_at: at, user_agent: agent, current: isThis }) => (
            <Paper key={id} component={Group} justify="space-between" wrap="nowrap" withBorder p="sm" maw="44rem">
              <Text flex={1} size="sm" className="text" title={agent}>
                <b>{deviceIn(agent)}</b> · {network} · {text.since} <When at={at} />
              </Text>
              {isThis ? <Badge>{text.isThis}</Badge> : <Act label={menu.signOut} act={() => end(id)} />}
            </Paper>
          ))
        }
      </Loaded>
      <Title order={2}>{signIn.change}</Title>
      <PasswordForm />
    </Page>
  );
}

/** As they name themselves. The first that is found counts: most browsers claim to be those behind it, too. */
const BROWSERS = ['Edg', 'OPR', 'Firefox', 'FxiOS', 'Chrome', 'CriOS', 'Safari'];
const NAMES: { readonly [name: string]: string } = { Edg: 'Edge', OPR: 'Opera', FxiOS: 'Firefox', CriOS: 'Chrome' };
const SYSTEMS = ['Windows', 'Android', 'iPhone', 'iPad', 'Mac', 'Linux'];

/** Such as "Firefox, Windows"; of a program what it says of itself. */
function deviceIn(agent: string): string {
  const [browser, system] = [BROWSERS, SYSTEMS].map((names) => names.find((name) => agent.includes(name)));
  return browser === undefined ? agent || '–' : [NAMES[browser] ?? browser, system].filter(Boolean).join(', ');
}
