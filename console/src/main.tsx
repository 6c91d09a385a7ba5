/** The sign-in comes first and alone, so that it is there soon on a slow line; all else is loaded while the person types. */
import './app/session.css';
import { lazy, StrictMode, Suspense, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { maySession, type User } from './api/client';
import { LanguageProvider, useSessionText } from './app/language';
import { SignIn } from './app/SignIn';

const load = () => import('./app/App');
const App = lazy(async () => ({ default: (await load()).App }));
/** Pages with a session of their own, or without one. */
const OTHERS = /^\/console\/(?:welcome|enter|operator)(?:\/|$)/;

function First() {
  const text = useSessionText();
  const [isSignedIn, setSignedIn] = useState(() => maySession() || OTHERS.test(window.location.pathname));
  useEffect(() => void load(), []);
  const onUser = async (user: User) => {
    (await load()).setSession(user);
    setSignedIn(true);
  };
  const waiting = (
    <p className="waiting" role="status">
      {text.loading}
    </p>
  );
  return <Suspense fallback={waiting}>{isSignedIn ? <App /> : <SignIn onUser={onUser} />}</Suspense>;
}

const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <LanguageProvider>
        <First />
      </LanguageProvider>
    </StrictMode>,
  );
}
