/** The console of a tenant's people around each of their pages. */
import { Anchor, Menu, Text, UnstyledButton } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type AnyRecord, api, bodyOf, type Role, type User } from '../api/client';
import { assetTypesQuery, orderCountsQuery, setSession, tenantQuery } from '../api/queries';
import { useTakeBack } from '../orders/approveLater';
import { titleOf, valueText } from './DataTable';
import { Appearance, type Found, Frame, type MenuEntry, type MenuGroup } from './Frame';
import { useLanguage } from './language';

type Entry = MenuEntry & { readonly roles?: readonly Role[] };

/** Those who read settings and activity. */
const READERS: readonly Role[] = ['admin', 'auditor'];

function useMenu(user: User): readonly MenuGroup[] {
  const { menu } = useLanguage().text;
  const counts = useQuery(orderCountsQuery).data;
  const groups: readonly { readonly label: string; readonly entries: readonly Entry[] }[] = [
    {
      label: menu.orders,
      entries: [
        { to: '/orders', label: menu.toValidate, ...counted(counts?.toValidate) },
        { to: '/refused', label: menu.refused, ...counted(counts?.refused) },
        { to: '/archive', label: menu.archive },
      ],
    },
    {
      label: menu.data,
      entries: [
        { to: '/tables', label: menu.tables },
        { to: '/activity', label: menu.activity, roles: READERS },
      ],
    },
    {
      label: menu.connections,
      entries: [
        { to: '/webhooks', label: menu.webhooks, roles: READERS },
        { to: '/api-clients', label: menu.apiClients, roles: READERS },
      ],
    },
    {
      label: menu.organisation,
      entries: [
        { to: '/users', label: menu.users, roles: READERS },
        { to: '/settings', label: menu.tenant },
      ],
    },
  ];
  const isFor = ({ roles }: Entry) => roles === undefined || user.roles.some((role) => roles.includes(role));
  return groups
    .map((group) => ({ ...group, entries: group.entries.filter(isFor) }))
    .filter(({ entries }) => entries.length > 0);
}

const CUSTOMERS = 'dyn_party';
/** Of each kind, in the palette. */
const FOUND = 6;

const counted = (count: number | undefined) => (count === undefined ? {} : { count });

export function Shell({ user, children }: { readonly user: User; readonly children: ReactNode }) {
  const { text } = useLanguage();
  const { keys } = text;
  const navigate = useNavigate();
  const tenant = useQuery(tenantQuery).data;
  useTakeBack();
  const tables = useQuery(assetTypesQuery).data ?? [];
  const ofTables = tables.map(({ name, label }) => ({
    id: name,
    label,
    description: name,
    onClick: () => void navigate({ to: '/tables/$table', params: { table: name } }),
  }));
  const find = async (search: string): Promise<readonly Found[]> => {
    const few = { search, perPage: 25 } as object;
    const [orders, parties] = await Promise.all([
      bodyOf(api.GET('/api/v1/platform/orders', { params: { query: few } })),
      bodyOf(api.GET('/api/v1/platform/tables/{table}/assets', { params: { path: { table: CUSTOMERS }, query: few } })),
    ]);
    return [
      {
        label: text.menu.orders,
        actions: orders.data.slice(0, FOUND).map(({ id, customer_reference, customer, processing_status: status }) => ({
          id,
          label: customer_reference ?? id,
          description: [customer, status === null ? null : text.status[status]].filter(Boolean).join(' · '),
          onClick: () => void navigate({ to: '/orders/$orderId', params: { orderId: id } }),
        })),
      },
      {
        label: text.orders.customer,
        actions: (parties.data as readonly AnyRecord[]).slice(0, FOUND).map((party) => ({
          id: party.id,
          label: titleOf(party),
          description: valueText(party.external_id),
          onClick: () =>
            void navigate({
              to: '/tables/$table/records/$recordId',
              params: { table: CUSTOMERS, recordId: party.id },
            }),
        })),
      },
    ];
  };
  return (
    <Frame
      find={find}
      title={tenant?.display_name ?? text.product}
      groups={useMenu(user)}
      below={
        <Anchor href="/docs" px="sm" size="sm">
          {text.menu.reference}
        </Anchor>
      }
      person={<Person user={user} />}
      keys={{
        'g o': () => void navigate({ to: '/orders' }),
        'g t': () => void navigate({ to: '/tables' }),
        'g a': () => void navigate({ to: '/activity' }),
        'g w': () => void navigate({ to: '/webhooks' }),
      }}
      keyRows={[
        ['g o', keys.orders],
        ['g t', keys.tables],
        ['g a', keys.activity],
        ['g w', keys.webhooks],
        ['j', keys.nextRow],
        ['k', keys.previousRow],
        ['Enter', keys.open],
        ['x', keys.select],
        ['Ctrl S', keys.save],
        ['v', keys.validate],
        ['a', keys.approve],
        ['u', keys.takeBack],
        ['r', keys.reject],
        ['n', keys.nextOrder],
        ['+', keys.addLine],
      ]}
      found={{ label: text.menu.tables, actions: ofTables }}
    >
      {children}
    </Frame>
  );
}

/** The menu of the person who is signed in. */
function Person({ user }: { readonly user: User }) {
  const { text } = useLanguage();
  const signOut = useMutation({
    mutationFn: () => bodyOf(api.DELETE('/api/v1/platform/session')),
    onSuccess: () => setSession(null),
  });
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <UnstyledButton>
          <Text size="sm" maw="12rem" truncate>
            <bdi>
              {user.first_name} {user.last_name}
            </bdi>
          </Text>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{user.email}</Menu.Label>
        <Menu.Item component={Link} to="/password">
          {text.menu.password}
        </Menu.Item>
        <Menu.Item onClick={() => signOut.mutate()}>{text.menu.signOut}</Menu.Item>
        <Menu.Divider />
        <Appearance />
      </Menu.Dropdown>
    </Menu>
  );
}
