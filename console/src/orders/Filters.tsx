/** What a list of orders shows: its search and filters, and the views to which a person has given a name. */
import { Button, Chip, CloseButton, Group, Select, TextInput } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { sessionQuery } from '../api/queries';
import { DateInput } from '../app/DateInput';
import { useText } from '../app/language';
import { SearchField } from '../app/SearchField';
import type { OrdersSearch } from '../routes';
import { accuracyText } from './Facts';
import { LookUp } from './FieldInput';
import { ARCHIVE, overdue, type Queue } from './queue';

type Props = {
  readonly queue: Queue;
  readonly search: OrdersSearch;
  readonly onChange: (search: OrdersSearch) => void;
};

const ACCURACIES = Object.fromEntries([0.95, 0.9, 0.8, 0.5].map((most) => [most, accuracyText(most)]));

/** @param customerName of the customer that is filtered by, if it is known */
export function Filters({ queue, search, onChange, customerName }: Props & { readonly customerName: string | null }) {
  const { common, orders, status } = useText();
  const { customer, sort } = search;
  const [isOpen, setOpen] = useState(['customer', 'from', 'to'].some((name) => Object.hasOwn(search, name)));
  const states = queue.states.flatMap((state) => (state === null ? [] : [[state, status[state]] as const]));
  const problems = { some: orders.withProblems, none: orders.withoutProblems };
  const choices = [
    { name: 'state', label: common.status, values: Object.fromEntries(states) },
    ...(queue === ARCHIVE ? [] : [{ name: 'problems', label: orders.problems, values: problems } as const]),
    { name: 'accuracy', label: orders.accuracyTo, values: ACCURACIES },
  ] as const;
  const change = (name: keyof OrdersSearch) => (value: string | null) => {
    const { [name]: _, ...others } = search;
    onChange(value === null || value === '' ? others : { ...others, [name]: value });
  };
  return (
    <>
      <Group gap="xs">
        <SearchField label={orders.search} value={search.text ?? ''} onSearch={change('text')} />
        {choices.map(({ name, label, values }) => (
          <Select
            key={name}
            aria-label={label}
            placeholder={label}
            w={172}
            clearable
            value={search[name] ?? null}
            data={Object.entries(values).map(([value, shown]) => ({ value, label: shown }))}
            onChange={change(name)}
          />
        ))}
        <Button variant="default" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {orders.filters}
        </Button>
        {isFiltered(search) && (
          <Button variant="subtle" onClick={() => onChange(sort === undefined ? {} : { sort })}>
            {common.clearFilters}
          </Button>
        )}
      </Group>
      {isOpen && (
        <Group gap="xs">
          <LookUp
            label={orders.customer}
            table="dyn_party"
            keyField="external_id"
            value={customer ?? null}
            record={customerName === null ? null : { id: '', name: customerName }}
            onChange={change('customer')}
          />
          {(['from', 'to'] as const).map((name) => (
            <DateInput
              key={name}
              isFilter
              label={`${orders.delivery}: ${common[name].toLowerCase()}`}
              value={search[name] ?? ''}
              onChange={change(name)}
            />
          ))}
        </Group>
      )}
    </>
  );
}

export const isFiltered = ({ sort: _, page: __, ...filters }: OrdersSearch): boolean => Object.keys(filters).length > 0;

type View = { readonly name: string; readonly search: OrdersSearch };

/** The address has the names in one order. */
const textOf = ({ page: _, ...search }: OrdersSearch): string => JSON.stringify(search);

/** Each person has their own, in this browser. */
export function Views({ queue, search, onChange }: Props) {
  const { common, orders } = useText();
  const person = useQuery(sessionQuery).data?.id;
  const [kept, setKept] = useLocalStorage<readonly View[]>({
    key: `console.views.${person}${queue.path}`,
    defaultValue: [],
    getInitialValueInEffect: false,
  });
  const [isNaming, setNaming] = useState(false);
  const ofAll = [{ name: common.all, search: {} }];
  const builtIn = queue === ARCHIVE ? ofAll : [...ofAll, { name: orders.overdue, search: overdue() }];
  const views: readonly View[] = [...builtIn, ...kept];
  const isShown = (view: View): boolean => textOf(view.search) === textOf(search);
  /** In place of the one with the same name; it is removed without a search. */
  const keep = (name: string, shown?: OrdersSearch) => {
    const others = kept.filter((view) => view.name !== name);
    setKept(shown === undefined ? others : [...others, { name, search: JSON.parse(textOf(shown)) }]);
  };
  return (
    <Group gap="xs" role="group" aria-label={orders.views}>
      {views.map((view, at) => (
        <Group key={view.name} gap={2}>
          <Chip size="xs" checked={isShown(view)} onChange={() => onChange(view.search)}>
            <bdi>{view.name}</bdi>
          </Chip>
          {at >= builtIn.length && (
            <CloseButton size="sm" aria-label={`${common.remove}: ${view.name}`} onClick={() => keep(view.name)} />
          )}
        </Group>
      ))}
      {isNaming ? (
        <TextInput
          size="xs"
          autoFocus
          maxLength={60}
          placeholder={common.name}
          aria-label={common.name}
          onBlur={() => setNaming(false)}
          onKeyDown={({ key, currentTarget: { value } }) => {
            if (key === 'Enter' && value.trim() !== '') keep(value.trim(), search);
            if (key === 'Enter' || key === 'Escape') setNaming(false);
          }}
        />
      ) : (
        !views.some(isShown) && (
          <Button size="compact-sm" variant="subtle" onClick={() => setNaming(true)}>
            {orders.saveView}
          </Button>
        )
      )}
    </Group>
  );
}
