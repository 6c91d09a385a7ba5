/** The forms that open a session, of plain elements and with styles of their own: the sign-in must not wait for a library. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { ApiError, api, dataOf, type User } from '../api/client';
import { useSessionText } from './language';

export type Values = { readonly [name: string]: string };
type FieldProps = {
  /** In the API. */
  readonly name: string;
  readonly label: string;
  readonly autoComplete: string;
  readonly error?: string | undefined;
  readonly autoFocus?: boolean;
  /** It is shown, and cannot be changed. */
  readonly value?: string;
};

function Field({ name, label, error, value, ...more }: FieldProps) {
  const [isShown, setShown] = useState(false);
  const isSecret = name !== 'email';
  return (
    <div>
      <label htmlFor={name}>{label}</label>
      <input
        id={name}
        name={name}
        type={!isSecret ? 'email' : isShown ? 'text' : 'password'}
        required
        readOnly={value !== undefined}
        {...(value === undefined ? {} : { value })}
        aria-invalid={error !== undefined}
        aria-describedby={`${name}-error`}
        {...more}
      />
      {isSecret && (
        // For the mouse alone, as browsers' own.
        <button type="button" className="eye" tabIndex={-1} aria-hidden onClick={() => setShown(!isShown)}>
          <svg viewBox="0 0 16 16" width={16} fill="none" stroke="currentColor" aria-hidden>
            <path d="M1 8c3-5.3 11-5.3 14 0-3 5.3-11 5.3-14 0Z" />
            <circle cx={8} cy={8} r={2.2} />
            {isShown && <path d="m2 14 12-12" />}
          </svg>
        </button>
      )}
      <p id={`${name}-error`}>{error}</p>
    </div>
  );
}

type FormProps = {
  readonly title?: string;
  readonly why?: string;
  /** Of the button. */
  readonly label: string;
  /** The first has the focus of a form with a title, which has the page for itself. */
  readonly fields: readonly FieldProps[];
  /** Given the values by the names. */
  readonly send: (values: Values) => Promise<unknown>;
  /** Above the fields, given the refusal. */
  readonly children?: (error: unknown) => ReactNode;
};

type State = { readonly isPending?: boolean; readonly error?: unknown };

/** A form that opens a session: with a password, or with a new one in place of it. */
export function SessionForm({ title, why, label, fields, send, children }: FormProps) {
  const [{ isPending = false, error }, setState] = useState<State>({});
  const errors = error instanceof ApiError ? error.fields : {};
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const values = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
    setState({ isPending: true });
    send(values).then(
      () => {
        form.reset();
        setState({});
      },
      (refusal: unknown) => setState({ error: refusal }),
    );
  };
  return (
    <form className="session" onSubmit={submit}>
      {title !== undefined && <h1>{title}</h1>}
      {why !== undefined && <p>{why}</p>}
      {error !== undefined && Object.keys(errors).length === 0 && (
        <p className="refusal" role="alert">
          {error instanceof Error ? error.message : String(error)}
        </p>
      )}
      {children?.(error)}
      {fields.map((field, at) => (
        <Field
          key={field.name}
          {...field}
          autoFocus={title !== undefined && at === fields.findIndex(({ value }) => value === undefined)}
          error={errors[field.name]?.join(' ')}
        />
      ))}
      <button type="submit" disabled={isPending}>
        {label}
      </button>
    </form>
  );
}

/** @param onUser given the user of the session that the form has opened */
export function SignIn({ onUser }: { readonly onUser: (user: User) => unknown }) {
  const text = useSessionText();
  return (
    <main className="centre">
      <SessionForm
        title={text.title}
        label={text.title}
        fields={[
          { name: 'email', label: text.email, autoComplete: 'username' },
          { name: 'password', label: text.password, autoComplete: 'current-password' },
        ]}
        send={async ({ email = '', password = '' }) =>
          onUser((await dataOf(api.POST('/api/v1/platform/session', { body: { email, password } }))).user)
        }
      />
    </main>
  );
}
