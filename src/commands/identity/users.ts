/** Users of the platform: admins, validators, auditors. Ids are integers that count up within a tenant. */
import { z } from 'zod';
import { boundedList } from '../../domain/boundedList.js';
import type { User } from '../../domain/identity/events.js';
import { ROLES } from '../../domain/identity/scopes.js';
import { MAX_LIST_ENTRIES, MAX_USERS } from '../../domain/limits.js';
import { usersStream } from '../../domain/streams.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { choiceOf, parseBody, shortText } from '../body.js';
import { ConflictError, type TenantDirectory, ValidationError } from '../context.js';
import { changesOf, type DirectoryWrite, refuseMore, writeDirectory, writeUser } from './directoryWriter.js';
import { hashPassword, NOBODYS_HASH, newPassword, passwordMatches } from './secrets.js';

/** What the commonest passwords of twelve characters and more are made of, besides digits, signs and repetitions. */
const COMMON =
  /password|passwort|pass|word|wachtwoord|welcome|welkom|qwerty|qwertz|azerty|uiop|asdf|ghjkl|zxcv|bnm|qaz|wsx|edc|zaq|admin|istrator|changeme|letmein|secret|geheim|iloveyou|dragon|monkey|master|shadow|sunshine|princess|football|voetbal|basketball|baseball|superman|batman|pokemon|starwars|liverpool|chelsea|arsenal|manchester|united|michael|jessica|computer|internet|google|facebook|chocolate|butterfly|unbelievable|relationship|amsterdam|nederland|summer|winter|zomer|herfst|september|october|november|december|hello|hallo|login|user|guest|test|demo|root|default|abcdefgh|abc|psswrd|passwrd|pssword/g;

/** So many different letters are left of a password that no list of the commonest has. */
function isRare(text: string): boolean {
  const letters = text.toLowerCase().replaceAll(/[^\p{L}]/gu, '');
  return new Set(letters.replaceAll(COMMON, '')).size > 3;
}

const password = shortText
  .min(12, 'must be at least 12 characters.')
  .refine(isRare, 'is among those that are guessed first: take several words that do not belong together.');
const roles = boundedList(choiceOf(ROLES), MAX_LIST_ENTRIES, 'roles');
const locale = z
  .string('must be a string.')
  .regex(/^[a-z]{2}([-_][A-Z]{2})?$/, 'must be a locale such as en or nl_NL.');

const names = { first_name: shortText, last_name: shortText };

export const newUserBody = z.strictObject({
  email: shortText.check(z.email('must be an e-mail address.')).transform((email) => email.toLowerCase()),
  password: password.optional(),
  ...names,
  locale: locale.default('en'),
  roles,
});

export const changeUserBody = z.strictObject({ ...names, locale, roles }).partial();

/** `password`: the one that was made, which is shown only here. */
type NewUser = { readonly id: number; readonly password?: string };

/**
 * @param body see newUserBody; without a password, one is made for the first sign-in
 * @throws ValidationError (also for an e-mail address in use), NotFoundError (tenant)
 */
export const addUser: DirectoryWrite<[body: unknown], NewUser> = async (commands, caller, body) => {
  const { password: chosen, first_name: firstName, last_name: lastName, ...input } = parseBody(newUserBody, body);
  const made = chosen === undefined ? { password: newPassword() } : {};
  const passwordHash = await hashPassword(caller.tenant, chosen ?? made.password ?? '', caller.deadline);
  let id = 0;
  const change = await writeDirectory(commands, caller, usersStream(caller.tenant), ({ users, lastUserId }) => {
    if ([...users.values()].some(({ email }) => email === input.email))
      throw new ValidationError({ email: ['The email field names a user that exists already.'] });
    refuseMore('users', users.size, MAX_USERS);
    id = lastUserId + 1;
    const data = { id, ...input, firstName, lastName, passwordHash };
    return [{ type: 'UserAdded', data: chosen === undefined ? { ...data, mustChangePassword: true } : data }];
  });
  return { ...change, id, ...made };
};

/** @param body see changeUserBody. @throws ValidationError, NotFoundError, ConflictError (last admin) */
export const changeUser: DirectoryWrite<[id: number, body: unknown]> = async (commands, caller, id, body) => {
  const { first_name: firstName, last_name: lastName, ...input } = parseBody(changeUserBody, body);
  return changeValues(commands, caller, id, (user, users) => {
    if (input.roles?.includes('admin') === false) keepAnAdmin(users, id);
    return changesOf<User>({ firstName, lastName, ...input }, user);
  });
};

/** Gives a user a password for the next sign-in, after which they have to change it. Sessions end at once. */
export const resetPassword: DirectoryWrite<[number], { readonly password: string }> = async (commands, caller, id) => {
  const made = newPassword();
  const passwordHash = await hashPassword(caller.tenant, made, caller.deadline);
  const change = await changeValues(commands, caller, id, () => ({ passwordHash, mustChangePassword: true }));
  return { ...change, password: made };
};

export const ownPasswordBody = z.strictObject({ old_password: shortText, new_password: password });
type OwnPassword = z.output<typeof ownPasswordBody>;

/**
 * A user's own change. All sessions that were opened with the old password end.
 * @param before the user as the old password was checked against
 * @throws ConflictError when the password has changed since; ValidationError when the new one equals the old one
 */
export const changeOwnPassword: DirectoryWrite<[User, OwnPassword]> = async (commands, caller, before, passwords) => {
  const { old_password: old, new_password: chosen } = passwords;
  if (chosen.normalize('NFKC') === old.normalize('NFKC')) {
    throw new ValidationError({ new_password: ['The new_password field must differ from the old one.'] });
  }
  const passwordHash = await hashPassword(caller.tenant, chosen, caller.deadline);
  return changeValues(commands, caller, before.id, ({ passwordHash: current, mustChangePassword }) => {
    if (current !== before.passwordHash) throw new ConflictError('The password was changed by somebody else just now.');
    return { passwordHash, ...(mustChangePassword ? { mustChangePassword: false } : {}) };
  });
};

type Users = ReadonlyMap<number, User>;
type Values = Partial<Omit<User, 'id' | 'email'>>;

/** @param decide the values that change. @throws NotFoundError */
const changeValues: DirectoryWrite<[number, (user: User, users: Users) => Values]> = (commands, caller, id, decide) =>
  writeUser(commands, caller, id, (user, { users }) => {
    const changed = decide(user, users);
    return Object.keys(changed).length === 0 ? [] : [{ type: 'UserChanged', data: { id, ...changed } }];
  });

/** @throws NotFoundError, ConflictError (last admin) */
export const removeUser: DirectoryWrite<[id: number]> = (commands, caller, id) =>
  writeUser(commands, caller, id, (_, { users }) => {
    keepAnAdmin(users, id);
    return [{ type: 'UserRemoved', data: { id } }];
  });

function keepAnAdmin(users: Users, without: number): void {
  const others = [...users.values()].filter((user) => user.id !== without && user.roles.includes('admin'));
  if (others.length === 0) throw new ConflictError('This is the last admin; somebody has to manage the settings.');
}

/**
 * The user, if e-mail address and password are right. An unknown address takes as long as a wrong password.
 * @param cancellation ends the wait in the queue for hashing
 * @throws TooManyWaitingError; the reason of the cancellation
 */
export async function authenticateUser(
  directory: TenantDirectory,
  tenantName: string,
  email: string,
  tried: string,
  cancellation?: Cancellation,
): Promise<User | undefined> {
  const users = directory.tenant(tenantName)?.users.values() ?? [];
  const user = [...users].find((candidate) => candidate.email === email.toLowerCase());
  const matches = await passwordMatches(tenantName, tried, user?.passwordHash ?? NOBODYS_HASH, cancellation);
  return matches ? user : undefined;
}
