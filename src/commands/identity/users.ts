/** Users of the platform: admins, validators, auditors. Ids are integers that count up within a tenant. */
import { z } from 'zod';
import { boundedList } from '../../domain/boundedList.js';
import type { User } from '../../domain/identity/events.js';
import { ROLES } from '../../domain/identity/scopes.js';
import { MAX_EMAIL_LENGTH, MAX_LIST_ENTRIES, MAX_PASSWORD_LENGTH, MAX_USERS } from '../../domain/limits.js';
import { usersStream } from '../../domain/streams.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { parseBody, shortText } from '../body.js';
import { ConflictError, NotFoundError, type TenantDirectory, ValidationError } from '../context.js';
import { changesOf, type DirectoryWrite, refuseMore, writeDirectory } from './directoryWriter.js';
import { hashPassword, NOBODYS_HASH, newPassword, passwordMatches } from './secrets.js';

const password = z
  .string('must be a string.')
  .min(12, 'must be at least 12 characters.')
  .max(MAX_PASSWORD_LENGTH, `must be at most ${MAX_PASSWORD_LENGTH} characters.`);
const roles = boundedList({
  element: z.enum(ROLES, `must be one of ${ROLES.join(', ')}.`),
  max: MAX_LIST_ENTRIES,
  type: 'must be an array of roles.',
  min: [1, 'must have at least 1 role.'],
});
const locale = z
  .string('must be a string.')
  .regex(/^[a-z]{2}([-_][A-Z]{2})?$/, 'must be a locale such as en or nl_NL.');

export const newUserBody = z.strictObject({
  email: z
    .string('must be a string.')
    .max(MAX_EMAIL_LENGTH, { error: `must be at most ${MAX_EMAIL_LENGTH} characters.`, abort: true })
    .check(z.email('must be an e-mail address.'))
    .transform((email) => email.toLowerCase()),
  password: password.optional(),
  must_change_password: z.boolean('must be true or false.').optional(),
  first_name: shortText,
  last_name: shortText,
  locale: locale.default('en'),
  roles,
});

export const changeUserBody = z
  .strictObject({
    password,
    must_change_password: z.boolean('must be true or false.'),
    first_name: shortText,
    last_name: shortText,
    locale,
    roles,
  })
  .partial();

/**
 * @param body see newUserBody; without a password, one is generated for the first sign-in
 * @returns the generated password, which is shown only here
 * @throws ValidationError (also for an e-mail address in use), NotFoundError (tenant)
 */
export const addUser: DirectoryWrite<[body: unknown], { readonly id: number; readonly password?: string }> = async (
  commands,
  caller,
  body,
) => {
  const { password: chosen, must_change_password: asked, ...input } = parseBody(newUserBody, body);
  const made = chosen === undefined ? newPassword() : undefined;
  const mustChange = asked ?? made !== undefined;
  const passwordHash = await hashPassword(caller.tenant, chosen ?? made ?? '', caller.deadline);
  let id = 0;
  const change = await writeDirectory(commands, caller, usersStream(caller.tenant), ({ users, lastUserId }) => {
    if ([...users.values()].some(({ email }) => email === input.email)) {
      throw new ValidationError({ email: ['The email field names a user that exists already.'] });
    }
    refuseMore('users', users.size, MAX_USERS);
    id = lastUserId + 1;
    const { first_name: firstName, last_name: lastName, email, locale: language, roles: given } = input;
    const data = { id, email, firstName, lastName, locale: language, roles: given, passwordHash };
    return [{ type: 'UserAdded', data: mustChange ? { ...data, mustChangePassword: true } : data }];
  });
  return { ...change, id, ...(made === undefined ? {} : { password: made }) };
};

/** @param body see changeUserBody. @throws ValidationError, NotFoundError, ConflictError (last admin) */
export const changeUser: DirectoryWrite<[id: number, body: unknown]> = async (commands, caller, id, body) => {
  const { password: chosen, first_name: firstName, last_name: lastName, ...input } = parseBody(changeUserBody, body);
  const passwordHash = chosen === undefined ? undefined : await hashPassword(caller.tenant, chosen, caller.deadline);
  return writeDirectory(commands, caller, usersStream(caller.tenant), ({ users }) => {
    const user = { mustChangePassword: false, ...userOf(users, id) };
    const { locale: newLocale, roles: newRoles, must_change_password: asked } = input;
    if (newRoles?.includes('admin') === false) keepAnAdmin(users, id);
    const mustChangePassword = asked ?? (passwordHash === undefined && user.mustChangePassword);
    const given = { firstName, lastName, locale: newLocale, roles: newRoles, passwordHash, mustChangePassword };
    const changed = changesOf<User>(given, user);
    return Object.keys(changed).length === 0 ? [] : [{ type: 'UserChanged', data: { id, ...changed } }];
  });
};

/** Gives a user a password for the next sign-in, after which they have to change it. Sessions end at once. */
export const resetPassword: DirectoryWrite<[id: number], { readonly password: string }> = async (
  commands,
  caller,
  id,
) => {
  const made = newPassword();
  const change = await changeUser(commands, caller, id, { password: made, must_change_password: true });
  return { ...change, password: made };
};

export const ownPasswordBody = z.strictObject({
  old_password: z
    .string('must be a string.')
    .max(MAX_PASSWORD_LENGTH, `must be at most ${MAX_PASSWORD_LENGTH} characters.`),
  new_password: password,
});

/**
 * A user's own change. All sessions that were opened with the old password end.
 * @param known the user as the old password was checked against
 * @throws ConflictError when the password has changed since; ValidationError when the new one equals the old one
 */
export const changeOwnPassword: DirectoryWrite<[known: User, z.output<typeof ownPasswordBody>]> = async (
  commands,
  caller,
  known,
  { old_password: old, new_password: chosen },
) => {
  if (chosen.normalize('NFKC') === old.normalize('NFKC')) {
    throw new ValidationError({ new_password: ['The new_password field must differ from the old one.'] });
  }
  const passwordHash = await hashPassword(caller.tenant, chosen, caller.deadline);
  return writeDirectory(commands, caller, usersStream(caller.tenant), ({ users }) => {
    const { id, passwordHash: current, mustChangePassword } = userOf(users, known.id);
    if (current !== known.passwordHash) throw new ConflictError('The password was changed by somebody else just now.');
    const changed = mustChangePassword ? { mustChangePassword: false } : {};
    return [{ type: 'UserChanged', data: { id, passwordHash, ...changed } }];
  });
};

function userOf(users: ReadonlyMap<number, User>, id: number): User {
  const user = users.get(id);
  if (user === undefined) throw new NotFoundError(`There is no user ${id}.`);
  return user;
}

/** @throws NotFoundError, ConflictError (last admin) */
export const removeUser: DirectoryWrite<[id: number]> = (commands, caller, id) =>
  writeDirectory(commands, caller, usersStream(caller.tenant), ({ users }) => {
    userOf(users, id);
    keepAnAdmin(users, id);
    return [{ type: 'UserRemoved', data: { id } }];
  });

function keepAnAdmin(users: ReadonlyMap<number, User>, without: number): void {
  const others = [...users.values()].filter((user) => user.id !== without && user.roles.includes('admin'));
  if (others.length === 0) throw new ConflictError('This is the last admin; somebody has to manage the settings.');
}

/**
 * The user, if e-mail address and password are right. An unknown address takes as long as a wrong password.
 * @param cancellation ends the wait in the queue for hashing
 * @throws TooManyWaitingError; the reason of the cancellation
 */
export async function authenticateUser(
  directory: Pick<TenantDirectory, 'tenant'>,
  tenantName: string,
  email: string,
  givenPassword: string,
  cancellation?: Cancellation,
): Promise<User | undefined> {
  const users = directory.tenant(tenantName)?.users.values() ?? [];
  const user = [...users].find((candidate) => candidate.email === email.toLowerCase());
  const matches = await passwordMatches(tenantName, givenPassword, user?.passwordHash ?? NOBODYS_HASH, cancellation);
  return matches ? user : undefined;
}
