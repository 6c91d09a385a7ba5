/** The menu, the keys and the command palette around every page, for a tenant's people and for the operator. */
import {
  AppShell,
  Badge,
  Burger,
  Group,
  Kbd,
  Menu,
  Modal,
  NavLink,
  ScrollArea,
  Stack,
  Text,
  UnstyledButton,
  useMantineColorScheme,
} from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { Spotlight, type SpotlightActionData, spotlight } from '@mantine/spotlight';
import { useQuery } from '@tanstack/react-query';
import { Link, type LinkProps, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useState } from 'react';
import icon from '../icon.svg';
import { type Keys, useKeys } from './keys';
import { languages, useLanguage } from './language';
import { Facts } from './Rows';

export type MenuEntry = {
  readonly to: LinkProps['to'];
  readonly label: string;
  readonly count?: number | undefined;
  /** Shown as the present page on its own address only: others lie below it. */
  readonly isExact?: boolean;
};
export type MenuGroup = { readonly label: string; readonly entries: readonly MenuEntry[] };

export type Found = { readonly label: string; readonly actions: readonly SpotlightActionData[] };

type Props = {
  /** Whose data it is. */
  readonly title: string;
  readonly groups: readonly MenuGroup[];
  /** Below the menu: the page of the documentation that is for them. */
  readonly guide: string;
  /** What the palette finds, in words. */
  readonly finds: string;
  readonly person: string;
  /** In the menu of the person, and in the palette, beside those of everybody. */
  readonly ofPerson: readonly SpotlightActionData[];
  /** Beside those of every page. */
  readonly keys: Keys;
  readonly keyRows: readonly (readonly [key: string, meaning: string])[];
  /** In the palette alone. */
  readonly actions?: readonly SpotlightActionData[];
  /** What the palette finds for a text. */
  readonly find: (text: string) => Promise<readonly Found[]>;
};

export function Frame(props: Props) {
  const { title, groups, guide, person, ofPerson, keys, keyRows, actions = [], finds, find } = props;
  const { text, language, speak } = useLanguage();
  const { toggleColorScheme } = useMantineColorScheme();
  const [isMenuOpen, menu] = useDisclosure(false);
  const [areKeysShown, help] = useDisclosure(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useKeys({ '?': help.open, 'mod+k': spotlight.open, '/': spotlight.open, ...keys });
  const personal = [
    ...ofPerson,
    { id: 'keys', label: text.keys.help, onClick: help.open },
    { id: 'colours', label: text.common.colours, onClick: toggleColorScheme },
    ...languages
      .filter(({ value }) => value !== language)
      .map(({ value, label }) => ({ id: value, label, onClick: () => speak(value) })),
  ];
  const allKeys = [['?', text.keys.help], ['/, Ctrl K', finds], ...keyRows] as const;
  const isHere = ({ to, isExact }: MenuEntry) => path === to || (isExact !== true && path.startsWith(`${to}/`));
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 250, breakpoint: 'sm', collapsed: { mobile: !isMenuOpen } }}
      padding="md"
    >
      <a className="skip" href="#content">
        {text.menu.skip}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={isMenuOpen} onClick={menu.toggle} hiddenFrom="sm" size="sm" aria-label={text.menu.open} />
            <Link to={(groups[0]?.entries[0]?.to ?? '/') as string} className="home">
              <img src={icon} alt="" width={24} height={24} />
              <bdi>{title}</bdi>
            </Link>
          </Group>
          <UnstyledButton className="find" onClick={spotlight.open} aria-label={finds}>
            <svg viewBox="0 0 16 16" width={16} fill="none" stroke="currentColor" aria-hidden>
              <path strokeWidth={1.5} d="M10.5 10.5 14 14M7 11.5a4.5 4.5 0 1 1 0-9 4.5 4.5 0 0 1 0 9Z" />
            </svg>
            <span className="wide">{finds}</span>
            <Kbd className="wide">/</Kbd>
          </UnstyledButton>
          <Menu position="bottom-end" width={260}>
            <Menu.Target>
              <UnstyledButton>
                <Text size="sm" maw={{ base: '6rem', sm: '12rem' }} truncate>
                  <bdi>{person}</bdi>
                </Text>
              </UnstyledButton>
            </Menu.Target>
            <Menu.Dropdown>
              {personal.map(({ id, label, onClick }) => (
                <Menu.Item key={id} onClick={onClick}>
                  {label}
                </Menu.Item>
              ))}
            </Menu.Dropdown>
          </Menu>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={text.menu.label}>
        <ScrollArea>
          {groups.map(({ label, entries }) => (
            <Stack key={label} gap={0} mb="sm">
              {label !== '' && (
                <Text size="xs" fw={600} px="sm" py={4}>
                  {label}
                </Text>
              )}
              {entries.map((entry) => (
                <NavLink
                  key={entry.to}
                  component={Link}
                  to={entry.to as string}
                  label={entry.label}
                  leftSection={<span className="icon" data-page={entry.to} aria-hidden />}
                  active={isHere(entry)}
                  activeOptions={{ exact: entry.isExact === true }}
                  onClick={menu.close}
                  rightSection={
                    entry.count !== undefined && (
                      <Badge variant="default" size="sm">
                        {entry.count}
                      </Badge>
                    )
                  }
                />
              ))}
            </Stack>
          ))}
          <NavLink
            component="a"
            href={guide}
            label={text.menu.guide}
            leftSection={<span className="icon" data-page="guide" aria-hidden />}
          />
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="content">
        <Outlet />
      </AppShell.Main>
      <Modal opened={areKeysShown} onClose={help.close} title={text.keys.help}>
        <Facts label={text.keys.help} facts={allKeys.map(([key, meaning]) => [meaning, <Kbd key={key}>{key}</Kbd>])} />
      </Modal>
      <Palette groups={groups} actions={[...actions, ...personal]} finds={finds} find={find} />
    </AppShell>
  );
}

const AFTER_TYPING_MS = 200;
const FOUND_FROM = 2;

/** Any page and action by typing its name, and what the API finds. */
function Palette({ groups, actions = [], finds, find }: Pick<Props, 'groups' | 'actions' | 'finds' | 'find'>) {
  const { text } = useLanguage();
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed.trim(), AFTER_TYPING_MS);
  const searched = useQuery({
    queryKey: ['find', search],
    queryFn: () => find(search),
    enabled: search.length >= FOUND_FROM,
    placeholderData: (before) => before,
  });
  const pages = groups.flatMap(({ entries }) =>
    entries.map(({ to, label }) => ({ id: String(to), label, onClick: () => void navigate({ to: to as string }) })),
  );
  const all = [
    ...(search.length >= FOUND_FROM ? (searched.data ?? []) : []).map(({ label, actions: found }) => ({
      label,
      // The service has found them by other fields than those that show.
      actions: found.map((action) => ({ ...action, keywords: typed })),
    })),
    { label: text.menu.label, actions: pages },
    { label: text.common.actions, actions },
  ];
  return (
    <Spotlight
      shortcut={null}
      limit={100}
      query={typed}
      onQueryChange={setTyped}
      scrollable
      nothingFound={searched.isFetching ? text.signIn.loading : text.orders.nothingFound}
      attributes={{ content: { 'aria-label': finds } }}
      scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}
      searchProps={{ placeholder: finds, 'aria-label': finds }}
      actions={all.map((each) => ({ group: each.label, actions: [...each.actions] }))}
    />
  );
}
