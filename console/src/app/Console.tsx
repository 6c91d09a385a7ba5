/** What a person sees first: the sign-in, the first change of the password, or the console with its menu. */
import { Center } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { sessionQuery } from '../api/queries';
import { Loaded } from './Page';
import { PasswordForm } from './Password';
import { Shell } from './Shell';
import { SignIn } from './SignIn';

export function Console() {
  return (
    <Loaded query={useQuery(sessionQuery)}>
      {(user) =>
        user === null ? (
          <SignIn />
        ) : user.must_change_password ? (
          <Center mih="100vh" p="md">
            <PasswordForm isFirst />
          </Center>
        ) : (
          <Shell user={user}>
            <Outlet />
          </Shell>
        )
      }
    </Loaded>
  );
}
