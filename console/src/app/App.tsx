/** All pages, with what they share: the look, what was read, notices. */
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import '@mantine/spotlight/styles.css';
import './console.css';
import { Badge, createTheme, MantineProvider, Modal } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { queryClient } from '../api/queries';
import { router } from '../routes';
import { useText } from './language';

export { setSession } from '../api/queries';

/** One accent, darker than Mantine's own blue, so that white on it has the contrast of WCAG AA; one scale of type. */
const theme = createTheme({
  fontFamily: "'Inter Variable', system-ui, sans-serif",
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  headings: {
    fontWeight: '600',
    sizes: { h1: { fontSize: '1.5rem' }, h2: { fontSize: '1rem' }, h3: { fontSize: '0.875rem' } },
  },
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 'sm',
  autoContrast: true,
  cursorType: 'pointer',
  respectReducedMotion: true,
});

export function App() {
  const components = {
    Badge: Badge.extend({ defaultProps: { variant: 'light', tt: 'none', miw: 'max-content' } }),
    Modal: Modal.extend({ defaultProps: { closeButtonProps: { 'aria-label': useText().common.close } } }),
  };
  return (
    <MantineProvider theme={{ ...theme, components }} defaultColorScheme="auto">
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
