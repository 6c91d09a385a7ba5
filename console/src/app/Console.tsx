/** What a person sees first: the sign-in, the first change of the password, or the console with its menu. */
import { Center } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { lazy, Suspense, useEffect } from 'react';
import { sessionQuery } from '../api/queries';
import { Loaded, Loading } from './Page';
import { PasswordForm } from './Password';
import { SignIn } from './SignIn';

// Behind the sign-in, which comes soon on a slow line, and while the person types.
const loadShell = () => import('./Shell');
const Shell = lazy(async () => ({ default: (await loadShell()).Shell }));

export function Console() {
  useEffect(() => void loadShell(), []);
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
          <Suspense fallback={<Loading />}>
            <Shell user={user}>
              <Outlet />
            </Shell>
          </Suspense>
        )
      }
    </Loaded>
  );
}
