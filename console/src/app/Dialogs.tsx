/** Dialogs that many pages need: a question before something that cannot be taken back, and a secret shown once. */
import {
  Alert,
  Button,
  type ButtonProps,
  Checkbox,
  Code,
  CopyButton,
  Group,
  Modal,
  Select,
  Stack,
  Text,
  Textarea,
  TextInput,
  type TextInputProps,
} from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { type ChangeEvent, type ReactNode, useEffect, useState } from 'react';
import { ApiError } from '../api/client';
import { DateInput } from './DateInput';
import { useText } from './language';
import { Problem } from './Page';

/** After what was done, all that is shown is read again. */
function useAct(act: () => Promise<unknown>) {
  const client = useQueryClient();
  return useMutation({ mutationFn: act, onSuccess: () => void client.invalidateQueries() });
}

type FormDialogProps = {
  readonly title: string;
  /** Of the button that acts. */
  readonly label: string;
  /** Closes the dialog when it has succeeded, or shows what comes next. */
  readonly act: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly isReady?: boolean;
  /** Of the button that does not act. */
  readonly cancel?: string;
  /** What it did is shown, and there is nothing more to do than to close. */
  readonly isDone?: boolean;
  readonly color?: string;
  readonly size?: string;
  /** Given the service's message about a field. */
  readonly children: (errorOf: (field: string) => string | undefined) => ReactNode;
};

/** Fields to fill in, and a button that sends them: a refusal is shown, and the dialog stays. */
export function FormDialog(props: FormDialogProps) {
  const { title, label, act, onClose, isReady = true, isDone = false, color = 'indigo', size = 'md', children } = props;
  const { common } = useText();
  const action = useAct(act);
  const errors = action.error instanceof ApiError ? action.error.fields : {};
  return (
    <Modal opened onClose={onClose} title={title} size={size}>
      <Stack>
        {action.error !== null && <Problem error={action.error} />}
        {children((field) => errors[field]?.join(' '))}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {isDone ? common.close : (props.cancel ?? common.cancel)}
          </Button>
          {!isDone && (
            <Button disabled={!isReady} loading={action.isPending} onClick={() => action.mutate()} color={color}>
              {label}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}

type TextFieldProps = Omit<TextInputProps, 'onChange'> & { readonly onText: (text: string) => void };

/** A line of text in a form. */
export const TextField = ({ onText, ...more }: TextFieldProps) => (
  <TextInput {...more} onChange={({ currentTarget }) => onText(currentTarget.value)} />
);

/** What a value is says how it is entered: a text, one of some choices, some of them, or yes or no. */
type Value = string | boolean | readonly string[];
type Choice = string | { readonly value: string; readonly label: string };
type Input = {
  readonly name: string;
  readonly label: string;
  readonly description?: string | undefined;
  readonly required?: boolean;
  readonly choices?: readonly Choice[];
  readonly isLong?: boolean;
  readonly isMoment?: boolean;
};

type InputsDialogProps<Values> = Pick<FormDialogProps, 'title' | 'label' | 'onClose'> & {
  readonly inputs: readonly Input[];
  /** Each input has one at the beginning. */
  readonly values: Values;
  readonly send: (values: Values) => Promise<unknown>;
  /** Below the inputs: what they come to. */
  readonly children?: (values: Values) => ReactNode;
};

/** A form of some inputs, each with what the service says of it. */
export function InputsDialog<Values extends object>(props: InputsDialogProps<Values>) {
  const { inputs, values: given, send, children, ...more } = props;
  const [values, setValues] = useState(given);
  const read = (name: string): Value => (values as { readonly [name: string]: Value })[name] ?? '';
  const isReady = inputs.every(({ name, required }) => required !== true || read(name) !== '');
  return (
    <FormDialog {...more} act={() => send(values).then(more.onClose)} isReady={isReady} size="lg">
      {(errorOf) => (
        <>
          {inputs.map(({ name, choices = [], isLong = false, isMoment = false, ...input }, at) => {
            const value = read(name);
            const set = (next: Value) => setValues({ ...values, [name]: next });
            const shared = { ...input, error: errorOf(name), 'data-autofocus': at === 0 };
            if (typeof value === 'boolean')
              return <Checkbox key={name} {...shared} checked={value} onChange={() => set(!value)} />;
            if (typeof value === 'object')
              return (
                <Checkbox.Group key={name} {...shared} value={[...value]} onChange={set}>
                  <Stack gap="xs" pt="xs">
                    {choices.map((choice) => {
                      const one = typeof choice === 'string' ? { value: choice, label: choice } : choice;
                      return <Checkbox key={one.value} {...one} />;
                    })}
                  </Stack>
                </Checkbox.Group>
              );
            const text = { ...shared, value };
            if (choices.length > 0)
              return <Select key={name} {...text} data={[...choices]} onChange={(next) => set(next ?? value)} />;
            if (isMoment) return <DateInput isMoment key={name} {...text} onChange={set} />;
            if (!isLong) return <TextField key={name} {...text} onText={set} />;
            const onChange = ({ currentTarget }: ChangeEvent<HTMLTextAreaElement>) => set(currentTarget.value);
            return <Textarea key={name} {...text} autosize maxRows={10} className="mono" onChange={onChange} />;
          })}
          {children?.(values)}
        </>
      )}
    </FormDialog>
  );
}

type ConfirmProps = {
  readonly label: string;
  /** The name of what it is done to. */
  readonly of?: string;
  /** What happens. */
  readonly why?: string;
  readonly act: () => Promise<unknown>;
  readonly color?: string;
};

/** A button whose action is asked for once more. */
export function Confirm({ label, of, why, act, color = 'red' }: ConfirmProps) {
  const text = useText();
  const title = of === undefined ? label : `${label}: ${of}`;
  return (
    <Opens label={label}>
      {(close) => (
        <FormDialog title={title} label={label} act={() => act().then(close)} onClose={close} color={color}>
          {() => <Text>{why ?? text.common.sure}</Text>}
        </FormDialog>
      )}
    </Opens>
  );
}

type OpensProps = Pick<ButtonProps, 'size' | 'variant' | 'disabled'> & {
  readonly label: string;
  /** The dialog, given what closes it. */
  readonly children: (close: () => void) => ReactNode;
};

/** A button that opens a dialog. An address with its label behind the # opens it, too: the palette leads there. */
export function Opens({ label, children, size = 'xs', variant = 'default', ...more }: OpensProps) {
  const [isOpen, setOpen] = useState(false);
  const navigate = useNavigate();
  const isNamed = useRouterState({ select: ({ location }) => decodeURI(location.hash) === label });
  useEffect(() => {
    if (!isNamed) return;
    setOpen(true);
    // It is opened once.
    void navigate({ to: '.', search: true, hash: '', replace: true });
  }, [isNamed, navigate]);
  return (
    <>
      <Button size={size} variant={variant} {...more} aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {label}
      </Button>
      {isOpen && children(() => setOpen(false))}
    </>
  );
}

type ActProps = Pick<ConfirmProps, 'label' | 'act'> & Pick<ButtonProps, 'variant' | 'disabled'>;

/** A button that acts at once, and shows the refusal if there is one. */
export function Act({ label, act, ...more }: ActProps) {
  const action = useAct(act);
  return (
    <>
      <Button size="xs" variant="default" {...more} loading={action.isPending} onClick={() => action.mutate()}>
        {label}
      </Button>
      <Modal opened={action.error !== null} onClose={() => action.reset()} title={label}>
        <Problem error={action.error} />
      </Modal>
    </>
  );
}

export type Secrets = readonly (readonly [label: string, value: string])[];

/** @returns what shows secrets once, and how to have it shown */
export function useSecretOnce(title: string, more?: ReactNode) {
  const text = useText();
  const [values, show] = useState<Secrets>();
  const close = () => show(undefined);
  const dialog = values && (
    <Modal opened onClose={close} title={title} closeOnClickOutside={false}>
      <Stack>
        <Alert color="yellow">{text.common.secretOnce}</Alert>
        {values.map(([label, value]) => (
          <Stack key={label} gap={4}>
            <Text size="sm" fw={600}>
              {label}
            </Text>
            <Group wrap="nowrap" gap="xs">
              <Code className="text">{value}</Code>
              <CopyButton value={value}>
                {({ copied, copy }) => (
                  <Button
                    size="compact-xs"
                    flex="none"
                    variant="default"
                    onClick={copy}
                    aria-label={`${text.common.copy}: ${label}`}
                  >
                    {copied ? text.common.copied : text.common.copy}
                  </Button>
                )}
              </CopyButton>
            </Group>
          </Stack>
        ))}
        {more}
        <Group justify="flex-end">
          <Button onClick={close}>{text.common.close}</Button>
        </Group>
      </Stack>
    </Modal>
  );
  return [dialog, show] as const;
}
