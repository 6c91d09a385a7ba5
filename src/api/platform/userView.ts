import type { User } from '../../domain/identity/directory.js';

/** A user as the platform API shows one; never with the password's hash. */
export const userView = (user: User) => ({
  id: user.id,
  first_name: user.firstName,
  last_name: user.lastName,
  locale: user.locale,
  email: user.email,
  roles: user.roles,
});
