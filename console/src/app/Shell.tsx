/** The console of a tenant's people: the sign-in, the first change of the password, or the menu around each of their pages. */
import { Center } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type AnyRecord, type AssetField, api, bodyOf, dataOf, type User } from '../api/client';
import * as read from '../api/queries';
import { useTakeBack } from '../orders/approveLater';
import { type Found, Frame, type MenuEntry, type MenuGroup } from './Frame';
import { useLanguage } from './language';
import { Loaded } from './Page';
import { PasswordForm } from './Password';
import { titleOf, valueText } from './Rows';
import { SignIn } from './SignIn';

function useMenu(): readonly MenuGroup[] {
  const { menu, ...text } = useLanguage().text;
  const { isReader } = read.useRoles();
  const counts = useQuery(read.orderCountsQuery).data;
  const forReaders = (...entries: readonly MenuEntry[]) => (isReader ? entries : []);
  const groups: readonly MenuGroup[] = [
    { label: '', entries: [{ to: '/', label: menu.home, isExact: true }] },
    {
      label: menu.orders,
      entries: [
        { to: '/orders', label: menu.toValidate, count: counts?.toValidate },
        { to: '/refused', label: text.status.submit_failed, count: counts?.refused },
        { to: '/archive', label: menu.archive },
      ],
    },
    {
      label: menu.data,
      entries: [
        { to: '/tables', label: text.tables.title },
        ...forReaders({ to: '/activity', label: text.activity.title }),
      ],
    },
    {
      label: menu.connections,
      entries: forReaders(
        { to: '/webhooks', label: text.webhooks.title },
        { to: '/api-clients', label: text.clients.title },
      ),
    },
    {
      label: menu.organisation,
      entries: [
        ...forReaders({ to: '/users', label: text.users.title }),
        { to: '/settings', label: text.tenant.title },
      ],
    },
  ];
  return groups.filter(({ entries }) => entries.length > 0);
}

/** The page of the documentation for the person; an admin is a validator as well. */
const guideFor = ({ roles }: User): string =>
  roles.includes('admin') ? 'admins' : roles.includes('validator') ? 'clerks' : 'audit';

/** Of each kind, in the palette. */
const FOUND = 6;
/** Tables that are looked through, the largest first: a tenant rarely has more. */
const TABLES_SEARCHED = 40;

/** Finds orders, and records of reference tables. A list that refuses the text, as too short for it, finds nothing. */
function useFind(): (search: string) => Promise<readonly Found[]> {
  const { text } = useLanguage();
  const navigate = useNavigate();
  const client = useQueryClient();
  const ordersWith = async (query: object): Promise<Found> => {
    const found = await dataOf(api.GET('/api/v1/platform/orders', { params: { query } }));
    const actions = found.map(({ id, customer_reference, customer, processing_status: status }) => ({
      id,
      label: customer_reference ?? id,
      // Isolated, as in a bdi: this is a text.
      description: [`\u2068${customer ?? ''}\u2069`, status === null ? [] : text.status[status]].flat().join(' · '),
      onClick: () => void navigate({ to: '/orders/$orderId', params: { orderId: id } }),
    }));
    return { label: text.menu.orders, actions };
  };
  const recordsWith = async (query: object, table: string, label: string): Promise<Found> => {
    const params = { path: { table }, query };
    const found = await dataOf(api.GET('/api/v1/platform/tables/{table}/assets', { params }));
    const actions = (found as readonly AnyRecord[]).map((record) => ({
      id: record.id,
      label: titleOf(record),
      description: valueText(record.external_id ?? record.code),
      onClick: () => void navigate({ to: '/tables/$table/records/$recordId', params: { table, recordId: record.id } }),
    }));
    return { label, actions };
  };
  return async (search) => {
    const summaries = await client.ensureQueryData(read.tableSummariesQuery);
    const records = new Map(summaries.map((each) => [each.name, each.records]));
    const isSearched = ({ type, filterable }: AssetField) => type === 'String' && filterable;
    const tables = (await client.ensureQueryData(read.assetTypesQuery))
      .filter(({ name, kind, fields }) => kind === 'reference' && records.get(name) && fields.some(isSearched))
      .sort((a, b) => (records.get(b.name) ?? 0) - (records.get(a.name) ?? 0))
      .slice(0, TABLES_SEARCHED);
    const query = { search, perPage: FOUND };
    const asked = [ordersWith(query), ...tables.map(({ name, label }) => recordsWith(query, name, label))];
    return (await Promise.allSettled(asked)).flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  };
}

export function Console() {
  return (
    <Loaded query={useQuery(read.sessionQuery)}>
      {(user) =>
        user === null ? (
          <SignedOut />
        ) : user.must_change_password ? (
          <Center mih="100vh" p="md">
            <PasswordForm isFirst />
          </Center>
        ) : (
          <Shell user={user} />
        )
      }
    </Loaded>
  );
}

function SignedOut() {
  read.useForgottenPages();
  return <SignIn onUser={read.setSession} />;
}

function Shell({ user }: { readonly user: User }) {
  const { keys, menu, ...text } = useLanguage().text;
  const navigate = useNavigate();
  const tenant = useQuery(read.tenantQuery).data;
  useTakeBack();
  const goTo = (to: string, hash?: string) => () => void navigate({ to, ...(hash === undefined ? {} : { hash }) });
  const types = useQuery(read.assetTypesQuery).data ?? [];
  const ofTables = types.map(({ name, label }) => ({
    id: name,
    label,
    description: name,
    onClick: goTo(`/tables/${name}`),
  }));
  const signOut = useMutation({
    mutationFn: () => bodyOf(api.DELETE('/api/v1/platform/session')),
    onSuccess: () => read.setSession(null),
  });
  const go = [
    ['g h', '/', menu.home],
    ['g o', '/orders', menu.toValidate],
    ['g t', '/tables', text.tables.title],
    ['g a', '/activity', text.activity.title],
    ['g w', '/webhooks', text.webhooks.title],
  ] as const;
  const ofPerson = [
    { id: 'account', label: text.account.title, onClick: goTo('/account') },
    { id: 'sign-out', label: menu.signOut, onClick: () => signOut.mutate() },
  ];
  const adding = (to: string, label: string) => ({ id: to, label, onClick: goTo(to, label) });
  const { addTable, addRecord } = text.tables;
  const ofAdmin = [
    adding('/users', text.users.add),
    adding('/api-clients', text.clients.add),
    adding('/webhooks', text.webhooks.add),
    adding('/tables', addTable),
    ...types
      .filter(({ kind }) => kind === 'reference')
      .map(({ name, label }) => ({ ...adding(`/tables/${name}`, addRecord), label: `${addRecord}: ${label}` })),
  ];
  return (
    <Frame
      find={useFind()}
      title={tenant?.display_name ?? text.product}
      groups={useMenu()}
      guide={`/docs/${guideFor(user)}`}
      finds={keys.palette}
      person={`${user.first_name} ${user.last_name}`}
      ofPerson={ofPerson}
      keys={Object.fromEntries(go.map(([key, to]) => [key, goTo(to)]))}
      keyRows={[...go.map(([key, , name]) => [key, name] as const), ...Object.entries(keys.rows)]}
      actions={[...(user.roles.includes('admin') ? ofAdmin : []), ...ofTables]}
    />
  );
}
