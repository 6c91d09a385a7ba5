/** The menu, the keys and the command palette around every page, for a tenant's people and for the operator. */
import {
  ActionIcon,
  AppShell,
  Badge,
  Burger,
  Group,
  Kbd,
  Menu,
  Modal,
  NavLink,
  ScrollArea,
  SegmentedControl,
  Stack,
  Table,
  Text,
  UnstyledButton,
  useMantineColorScheme,
} from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { Spotlight, type SpotlightActionData, spotlight } from '@mantine/spotlight';
import { useQuery } from '@tanstack/react-query';
import { Link, type LinkProps, useNavigate, useRouterState } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import icon from '../icon.svg';
import { type Keys, useKeys } from './keys';
import { languages, useLanguage } from './language';

export type MenuEntry = {
  readonly to: LinkProps['to'];
  readonly label: string;
  readonly count?: number;
  /** Shown as the present page on its own address only: others lie below it. */
  readonly isExact?: boolean;
};
export type MenuGroup = { readonly label: string; readonly entries: readonly MenuEntry[] };

export type Found = { readonly label: string; readonly actions: SpotlightActionData[] };

type Props = {
  /** Whose data it is. */
  readonly title: string;
  readonly groups: readonly MenuGroup[];
  /** Below the menu. */
  readonly below?: ReactNode;
  /** The menu of the person who is signed in. */
  readonly person: ReactNode;
  /** Beside those of every page. */
  readonly keys: Keys;
  readonly keyRows: readonly (readonly [key: string, meaning: string])[];
  /** What the palette offers beside the pages. */
  readonly found?: Found;
  /** What the palette finds for a text. */
  readonly find?: (text: string) => Promise<readonly Found[]>;
  readonly children: ReactNode;
};

export function Frame({ title, groups, below, person, keys, keyRows, found, find, children }: Props) {
  const { text } = useLanguage();
  const [isMenuOpen, menu] = useDisclosure(false);
  const [areKeysShown, help] = useDisclosure(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useKeys({
    '?': help.open,
    'mod+k': spotlight.open,
    '/': () => document.querySelector<HTMLInputElement>('[data-search]')?.focus(),
    ...keys,
  });
  const isHere = ({ to, isExact }: MenuEntry) => path === to || (isExact !== true && path.startsWith(`${to}/`));
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 230, breakpoint: 'sm', collapsed: { mobile: !isMenuOpen } }}
      padding="md"
    >
      <a className="skip" href="#content">
        {text.menu.skip}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={isMenuOpen} onClick={menu.toggle} hiddenFrom="sm" size="sm" aria-label={text.menu.open} />
            <img src={icon} alt="" width={24} height={24} />
            <Text fw={600} truncate>
              <bdi>{title}</bdi>
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <UnstyledButton onClick={spotlight.open} aria-label={text.keys.palette} visibleFrom="xs">
              <Kbd>Ctrl K</Kbd>
            </UnstyledButton>
            <ActionIcon variant="default" onClick={help.open} aria-label={text.keys.help}>
              ?
            </ActionIcon>
            {person}
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={text.menu.label}>
        <ScrollArea>
          {groups.map(({ label, entries }) => (
            <Stack key={label} gap={0} mb="sm">
              <Text size="xs" fw={600} px="sm" py={4}>
                {label}
              </Text>
              {entries.map((entry) => (
                <NavLink
                  key={entry.to}
                  component={Link}
                  to={entry.to as string}
                  label={entry.label}
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
          {below}
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="content">{children}</AppShell.Main>
      <KeysHelp isOpen={areKeysShown} keyRows={keyRows} onClose={help.close} />
      <Palette groups={groups} {...(found === undefined ? {} : { found })} {...(find === undefined ? {} : { find })} />
    </AppShell>
  );
}

/** Language and colours, in the menu of the person. */
export function Appearance() {
  const { text, language, speak } = useLanguage();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <>
      <Menu.Label>{text.common.language}</Menu.Label>
      <SegmentedControl
        fullWidth
        size="xs"
        data={[...languages]}
        value={language}
        onChange={speak as (language: string) => void}
        aria-label={text.common.language}
      />
      <Menu.Label>{text.common.colours}</Menu.Label>
      <SegmentedControl
        fullWidth
        size="xs"
        data={[
          { value: 'auto', label: 'Auto' },
          { value: 'light', label: '☀' },
          { value: 'dark', label: '☾' },
        ]}
        value={colorScheme}
        onChange={setColorScheme as (scheme: string) => void}
        aria-label={text.common.colours}
      />
    </>
  );
}

type HelpProps = Pick<Props, 'keyRows'> & { readonly isOpen: boolean; readonly onClose: () => void };

function KeysHelp({ isOpen, keyRows, onClose }: HelpProps) {
  const { keys } = useLanguage().text;
  const rows = [['?', keys.help] as const, ['/', keys.search] as const, ['Ctrl K', keys.palette] as const, ...keyRows];
  return (
    <Modal opened={isOpen} onClose={onClose} title={keys.title}>
      <Table>
        <Table.Tbody>
          {rows.map(([key, meaning]) => (
            <Table.Tr key={key}>
              <Table.Td>
                <Kbd>{key}</Kbd>
              </Table.Td>
              <Table.Td>{meaning}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  );
}

const AFTER_TYPING_MS = 200;
const FOUND_FROM = 2;

/** Any page by typing its name, and what else there is. */
function Palette({ groups, found, find }: Pick<Props, 'groups' | 'found' | 'find'>) {
  const { text } = useLanguage();
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed.trim(), AFTER_TYPING_MS);
  const searched = useQuery({
    queryKey: ['find', search],
    queryFn: () => find?.(search) ?? [],
    enabled: search.length >= FOUND_FROM,
    placeholderData: (before) => before,
  });
  const pages = groups.flatMap(({ entries }) =>
    entries.map(({ to, label }) => ({ id: String(to), label, onClick: () => void navigate({ to: to as string }) })),
  );
  const all = [
    ...(search.length >= FOUND_FROM ? (searched.data ?? []) : []).map(({ label, actions }) => ({
      label,
      // The service has found them by other fields than those that show.
      actions: actions.map((action) => ({ ...action, keywords: typed })),
    })),
    { label: text.menu.label, actions: pages },
    ...(found === undefined ? [] : [found]),
  ];
  return (
    <Spotlight
      shortcut={null}
      limit={20}
      query={typed}
      onQueryChange={setTyped}
      scrollable
      nothingFound={searched.isFetching ? text.common.loading : text.orders.nothingFound}
      searchProps={{ placeholder: text.keys.palette, 'aria-label': text.keys.palette }}
      actions={all.map(({ label, actions }) => ({ group: label, actions }))}
    />
  );
}
