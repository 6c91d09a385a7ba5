/** Webhook jobs that wait, and the receivers that fail. */
import { Badge, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { bodyOf } from '../api/client';
import { Cut } from '../app/DataTable';
import { useNumber, When } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Rows } from '../app/Rows';
import { api, type Schemas } from './client';
import { useWords } from './words';

const EACH_MS = 5_000;

export function Queues() {
  const words = useWords();
  const queues = useQuery({
    queryKey: ['operator', 'queues'],
    queryFn: async () => (await bodyOf(api.GET('/api/v1/operator/queues'))).data,
    refetchInterval: EACH_MS,
  });
  const receivers = useQuery({
    queryKey: ['operator', 'receivers'],
    queryFn: async () => (await bodyOf(api.GET('/api/v1/operator/receivers'))).data,
    refetchInterval: EACH_MS,
  });
  return (
    <Page title={words.menu.queues}>
      <Loaded query={queues}>
        {(found) => (found.length === 0 ? <Text>{words.queues.none}</Text> : <Depths queues={found} />)}
      </Loaded>
      <Stack component="section" gap="xs">
        <Title order={2} size="h4">
          {words.queues.receivers}
        </Title>
        <Loaded query={receivers}>
          {(found) => (found.length === 0 ? <Text>{words.queues.noReceivers}</Text> : <Receivers receivers={found} />)}
        </Loaded>
      </Stack>
    </Page>
  );
}

function Depths({ queues }: { readonly queues: readonly Schemas['Queue'][] }) {
  const words = useWords().queues;
  const number = useNumber();
  const numbers = [words.ready, words.delayed, words.inFlight];
  return (
    <Rows
      label={words.queues}
      heads={[{ label: words.queue }, ...numbers.map((label) => ({ label, isNumber: true }))]}
      rows={queues.map((queue) => ({
        id: queue.name,
        cells: [queue.name, ...[queue.ready, queue.delayed, queue.in_flight].map(number)],
      }))}
    />
  );
}

function Receivers({ receivers }: { readonly receivers: readonly Schemas['TroubledReceiver'][] }) {
  const { queues: words, tenants } = useWords();
  const number = useNumber();
  return (
    <Rows
      label={words.receivers}
      minWidth={700}
      heads={[
        { label: tenants.tenant },
        { label: words.receiver },
        { label: words.failingSince },
        { label: words.lastSuccess },
        { label: words.waiting, isNumber: true },
        { label: words.waitingSince },
      ]}
      rows={receivers.map((receiver) => ({
        id: `${receiver.tenant} ${receiver.webhook_id}`,
        cells: [
          <Link key="tenant" to="/operator/tenants/$tenant" params={{ tenant: receiver.tenant }}>
            {receiver.tenant}
          </Link>,
          <div key="webhook">
            <Cut>{receiver.name || receiver.webhook_id}</Cut>
            <Cut>{receiver.host}</Cut>
            {receiver.circuit_open && (
              <Badge color="yellow" variant="dot" tt="none">
                {words.circuit}
              </Badge>
            )}
            {receiver.disabled !== null && (
              <Badge color="red" variant="dot" tt="none">
                {words.disabled[receiver.disabled] ?? receiver.disabled}
              </Badge>
            )}
          </div>,
          <When key="since" at={receiver.failing_since} />,
          <When key="success" at={receiver.last_success_at} />,
          number(receiver.open),
          <When key="oldest" at={receiver.oldest_at} />,
        ],
      }))}
    />
  );
}
