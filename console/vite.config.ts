import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The service that `npm run dev:console` shows. */
const SERVICE = process.env.SERVICE ?? 'http://demo.localhost:3000';

export default defineConfig({
  root: import.meta.dirname,
  // Deeper pages, such as /console/orders/<id>, load the same files.
  base: '/console/',
  plugins: [react()],
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    // The service has one folder of files: the hash in a name says which may be cached for ever.
    assetsDir: '.',
    target: 'es2023',
    // They know light-dark(): what stands in its place would lose the choice of a scheme.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // Its content security policy allows no inline scripts.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // test/console measures what the first screen takes.
    chunkSizeWarningLimit: 1_000,
    license: { fileName: 'LICENSES.md' },
  },
  server: {
    host: '127.0.0.1',
    proxy: {
      '/api': {
        target: SERVICE,
        changeOrigin: true,
        // The service accepts the session's cookie from its own origin only.
        configure: (proxy) => proxy.on('proxyReq', (request) => request.setHeader('Origin', SERVICE)),
      },
    },
  },
});
