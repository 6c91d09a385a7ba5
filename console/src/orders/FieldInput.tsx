/** The field of any table, of a form or a grid, by its type. One whose value names a record is found by typing. */
import { Checkbox, Input, Select, Stack, Text, Textarea, TextInput, type TextInputProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ComponentProps, memo, type ReactNode, useId, useState } from 'react';
import { type AnyRecord, type AssetField, type AssetType, api, bodyOf } from '../api/client';
import { isolated, tenantQuery } from '../api/queries';
import { DateInput } from '../app/DateInput';
import { useLanguage, useText } from '../app/language';
import { decimalMark, NoNumber, numberText, numberValue } from '../app/numberText';
import { Names, Value } from '../app/Rows';

/** A value that the person may not change reads as text. */
export function FieldText({ label, value }: { readonly label: string | undefined; readonly value: unknown }) {
  return (
    <Input.Wrapper label={label} labelElement="div">
      <Text size="sm" className="text">
        <Value>{value}</Value>
      </Text>
    </Input.Wrapper>
  );
}

type CellProps = ComponentProps<'input'> & { readonly error?: ReactNode; readonly rightSection?: ReactNode };

/** A grid has thousands: a plain input takes a tenth of the time of a TextInput. */
export function CellInput({ error, rightSection, ...props }: CellProps) {
  const id = useId();
  const isWrong = error !== undefined;
  return (
    <>
      <div className="cell">
        <input {...props} aria-invalid={isWrong} {...(isWrong ? { 'aria-describedby': id } : {})} />
        {rightSection}
      </div>
      {isWrong && (
        <div className="wrong" id={id}>
          {error}
        </div>
      )}
    </>
  );
}

type Props = {
  readonly table: string;
  /** The field of that table which the value names. */
  readonly keyField: string;
  readonly value: string | null;
  readonly onChange: (value: string | null) => void;
  /** The record that the value names now, if it is known. */
  readonly record: AnyRecord | null;
  readonly label: string;
  readonly isInGrid?: boolean;
  readonly error?: string | undefined;
  readonly isDisabled?: boolean;
};
type SearchProps = Props & { readonly shownName: string };

const LOOKED_UP = 25;
/** On a page of the API. */
const MOST = 1000;
const AFTER_TYPING_MS = 200;
/** So few may mean that the person has mistyped. */
const FEW = 5;
/** Two halves of a shorter text are in most names. */
const SHORTEST_MISTYPED = 4;

/** What a person calls a record, of the fields that standard tables have. */
export function nameOf({ name, customer_reference, code, value, external_id, id }: AnyRecord): string {
  const parts = [name ?? customer_reference ?? value ?? code, external_id].filter(
    (part) => typeof part === 'string' && part !== '',
  );
  return parts.length === 0 ? id : parts.map((part) => isolated(String(part))).join(' · ');
}

/** Under which a record that was picked is kept, as the order has it only once it is saved. */
export const pickedKey = (table: string, key: string) => ['picked', table, key] as const;

export async function recordsOf(table: string, query: object): Promise<readonly AnyRecord[]> {
  const params = { path: { table }, query };
  return (await bodyOf(api.GET('/api/v1/platform/tables/{table}/assets', { params }))).data as readonly AnyRecord[];
}

/** Records that have the text, and then those that nearly have it in their names. @throws ApiError */
export async function recordsLike(table: string, text: string): Promise<readonly AnyRecord[]> {
  const found = await recordsOf(table, { perPage: LOOKED_UP, search: text });
  if (found.length >= FEW || text.length < SHORTEST_MISTYPED) return found;
  // One letter too few, or an accent, is in one half of the text: the other one is as it was typed.
  const [name, half] = [/_(code|type|reason)$/.test(table) ? 'value' : 'name', Math.ceil(text.length / 2)];
  const halves = [text.slice(0, half), text.slice(half)].map((each) => each.replaceAll(',', '\\,')).join(',');
  const near = await recordsOf(table, { perPage: MOST, [`filter[${name}]`]: halves });
  const others = near.filter((each) => isNearly(nameOf(each), text) && !found.some(({ id }) => id === each.id));
  return [...found, ...others].slice(0, LOOKED_UP);
}

const folded = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

/** Whether the name has these letters in this order, with one more between two of them at most; accents aside. */
function isNearly(name: string, typed: string): boolean {
  const [letters, wanted] = [[...folded(name)], [...folded(typed)]];
  return letters.some((_, start) => {
    let at = start;
    return wanted.every((letter) => {
      if (letters[at] !== letter) at += 1;
      at += 1;
      return letters[at - 1] === letter;
    });
  });
}

/** What tells records with like names apart, of the fields that standard tables have. */
function detailsOf(record: AnyRecord | undefined, units: ReadonlyMap<string, unknown> | undefined, mark: string) {
  const { code, ean, base_unit_code_id: unit, price, unit_price = price, city_name: city } = record ?? { id: '' };
  const parts = [code, ean && `EAN ${ean}`, units?.get(String(unit)), numberText(unit_price, mark), city];
  return parts.filter((part) => part != null && part !== '').map(String);
}

export function LookUp(props: Props) {
  const { table, value, label, isInGrid = false, error, isDisabled = false } = props;
  const text = useText();
  // A grid may have hundreds: what opens is made where the person goes.
  const [isHere, setHere] = useState(!isInGrid);
  const client = useQueryClient();
  const record = props.record ?? client.getQueryData<AnyRecord>(pickedKey(table, value ?? ''));
  const shownName = record === undefined ? (value ?? '') : nameOf(record);
  if (isDisabled) return <FieldText label={isInGrid ? undefined : label} value={shownName} />;
  if (isHere) return <Search {...props} shownName={shownName} />;
  return (
    <CellInput
      role="combobox"
      aria-expanded={false}
      aria-label={label}
      placeholder={text.orders.lookUp}
      value={shownName}
      onChange={() => undefined}
      onFocus={() => setHere(true)}
      error={error}
    />
  );
}

function Search({ table, keyField, value, onChange, label, isInGrid = false, error, shownName }: SearchProps) {
  const { text, language } = useLanguage();
  const client = useQueryClient();
  const [typed, setTyped] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [search] = useDebouncedValue(typed, AFTER_TYPING_MS);
  const found = useQuery({
    queryKey: ['look-up', table, search],
    queryFn: () => recordsLike(table, search === shownName ? '' : search),
    enabled: isOpen,
    placeholderData: (before) => before,
  });
  const records = new Map((found.data ?? []).map((each) => [String(each[keyField]), each]));
  const units = useQuery({
    queryKey: ['look-up', 'units'],
    queryFn: async () =>
      new Map((await recordsOf('dyn_unit_code', { perPage: MOST })).map(({ id, value: unit }) => [id, unit])),
    enabled: found.data?.some((each) => typeof each.base_unit_code_id === 'string') === true,
  });
  const options = new Map([...records].map(([key, each]) => [key, nameOf(each)]));
  if (value !== null && !options.has(value)) options.set(value, shownName === '' ? value : shownName);
  return (
    <Select
      {...(isInGrid ? { 'aria-label': label } : { label })}
      placeholder={text.orders.lookUp}
      searchable
      autoFocus={isInGrid}
      onFocus={({ currentTarget }) => currentTarget.select()}
      clearable={!isInGrid}
      selectFirstOptionOnChange
      nothingFoundMessage={found.isFetching ? text.signIn.loading : text.orders.nothingFound}
      data={[...options].map(([key, name]) => ({ value: key, label: name }))}
      // The API has searched already.
      filter={({ options: all }) => all}
      renderOption={({ option: { value: key, label: name } }) => (
        <Stack gap={0}>
          <bdi>{name}</bdi>
          <Text size="xs">
            <Names>{detailsOf(records.get(key), units.data, decimalMark(language))}</Names>
          </Text>
        </Stack>
      )}
      value={value}
      onChange={(key) => {
        client.setQueryData(pickedKey(table, key ?? ''), records.get(key ?? ''));
        onChange(key);
      }}
      onSearchChange={setTyped}
      onDropdownOpen={() => setOpen(true)}
      onDropdownClose={() => setOpen(false)}
      error={error}
    />
  );
}

type FieldProps = {
  readonly field: AssetField;
  readonly reference: AssetType['relationships'][number] | undefined;
  /** The order or the part, with the record that each reference named when it was read. */
  readonly of: { readonly [field: string]: unknown };
  readonly value: unknown;
  readonly onChange: (value: unknown, name: string) => void;
  readonly error?: string | undefined;
  readonly isDisabled?: boolean;
  /** In a grid the column's head is shown in place of the label. */
  readonly isInGrid?: boolean;
  readonly label?: string;
};

const textOf = (value: unknown): string => (value === null || value === undefined ? '' : String(value));
const orNull = (value: string): string | null => (value === '' ? null : value);

/** Rendered again only where it changes. */
export const FieldInput = memo((props: FieldProps) => {
  const { field, reference, of, value, error, isDisabled = false, isInGrid = false } = props;
  const { label = field.label } = props;
  const onChange = (to: unknown) => props.onChange(to, field.name);
  if (reference !== undefined) {
    const { table, key, name } = reference;
    // As it was read, unless another one was picked since.
    const known = of[name] as AnyRecord | null | undefined;
    const record = known?.[key] === value ? (known ?? null) : null;
    const shared = { label, isInGrid, onChange, error, isDisabled };
    return <LookUp {...shared} table={table} keyField={key} value={orNull(textOf(value))} record={record} />;
  }
  const isNumber = field.type === 'Decimal' || field.type === 'Integer';
  if (isDisabled) return <FieldText label={isInGrid ? undefined : label} value={value} />;
  const shared = { ...(isInGrid ? { 'aria-label': label } : { label, required: field.required }), error };
  const Input = isInGrid ? CellInput : TextInput;
  const Long = !isInGrid && field.type === 'LongText' ? Textarea : Input;
  if (field.type === 'Date')
    return <DateInput {...shared} as={Input} value={textOf(value)} onChange={(to) => onChange(orNull(to))} />;
  if (isNumber) return <NumberField {...shared} as={Input} {...{ field, value }} onChange={props.onChange} />;
  if (field.type === 'Boolean')
    return (
      <Checkbox
        {...shared}
        checked={value === true}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
    );
  return (
    <Long
      {...shared}
      {...(Long === Textarea ? { autosize: true, maxRows: 8 } : {})}
      maxLength={field.max_length ?? undefined}
      value={textOf(value)}
      onChange={({ currentTarget }) => onChange(orNull(currentTarget.value))}
    />
  );
});

type NumberProps = Pick<TextInputProps, 'label' | 'aria-label' | 'required' | 'error'> &
  Pick<FieldProps, 'field' | 'value' | 'onChange'> & { readonly as: typeof TextInput | typeof CellInput };

/** The service makes the number, as it can refuse what it cannot hold. */
function NumberField({ as: Input, field, value, onChange, error, ...more }: NumberProps) {
  const { language, text } = useLanguage();
  const mark = decimalMark(language);
  const [typed, setTyped] = useState<string | undefined>();
  const read = (next: string) => (next.trim() === '' ? null : numberValue(next, mark, field.type === 'Integer'));
  return (
    <Input
      {...more}
      inputMode="decimal"
      error={value instanceof NoNumber ? text.common.noNumber(mark) : error}
      value={typed ?? numberText(value, mark)}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        onChange(read(currentTarget.value), field.name);
      }}
      onBlur={() => setTyped(undefined)}
    />
  );
}

const STALE_MS = 60_000;

function useOrder(id: string | undefined) {
  const table = useQuery(tenantQuery).data?.order_model ?? '';
  const order = useQuery({
    queryKey: ['records', table, 'named', id],
    queryFn: async () => {
      const params = { path: { table, asset_id: id ?? '' } };
      return (await bodyOf(api.GET('/api/v1/platform/tables/{table}/assets/{asset_id}', { params }))).data as AnyRecord;
    },
    enabled: table !== '' && id !== undefined,
    staleTime: STALE_MS,
  });
  return { table, order: order.data ?? null, isPending: order.isPending };
}

/** @param name if it is known */
export function OrderLink({ id, name }: { readonly id: string; readonly name?: string | null }) {
  const text = useText().orders;
  const { order } = useOrder(name === undefined ? id : undefined);
  return (
    <Link to="/orders/$orderId" params={{ orderId: id }}>
      <bdi>{name ?? (order === null ? `${text.one} ${id.slice(0, 8)}` : nameOf(order))}</bdi>
    </Link>
  );
}

type OrderFieldProps = Pick<Props, 'label' | 'onChange'> & { readonly value: string | undefined };

/** Finds an order by what people call it. */
export function OrderField({ label, value, onChange }: OrderFieldProps) {
  const { table, order, isPending } = useOrder(value);
  // Nobody knows an order by its id.
  const shown = isPending ? null : (value ?? null);
  return <LookUp label={label} table={table} keyField="id" value={shown} record={order} onChange={onChange} />;
}
