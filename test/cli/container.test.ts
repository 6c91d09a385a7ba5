/** What can be tried of the container and the compose file without Docker. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { settings } from '#app/config.js';
import { REPOSITORY, Workplace } from './cli.js';

const dockerfile = readFileSync(join(REPOSITORY, 'Dockerfile'), 'utf8');

it('the image copies files that exist, and does not run as root', () => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) => files.split(' '));
  expect(copied).toContain('package.json');
  expect(copied.filter((file) => !existsSync(join(REPOSITORY, file)))).toEqual([]);
  expect(dockerfile).toMatch(/^USER (?!root)\w+$/m);
  // No sample tenant: its credentials would be in the journal.
  expect(dockerfile).toMatch(/^CMD \["start"\]$/m);
});

it('the health check of the image tells a service that answers from one that does not', async () => {
  const [, command = '[]'] = /^HEALTHCHECK .*\\\n\s*CMD (\[.*\])$/m.exec(dockerfile) ?? [];
  const [program, ...args]: string[] = JSON.parse(command);
  expect(program).toBe('node');
  const check = (port: string): Promise<number> =>
    new Promise((done) => {
      execFile(process.execPath, args, { env: { PORT: port } }, (error) => done(error ? Number(error.code) : 0));
    });
  const workplace = await Workplace.make();
  try {
    const service = await workplace.start();
    const { port } = new URL(service.address);
    expect(await check(port)).toBe(0);
    await service.stop();
    expect(await check(port)).toBe(1);
  } finally {
    await workplace.remove();
  }
});

it('docker-compose.yml uses settings that exist, and no port can be reached from other machines', () => {
  const { services } = parse(readFileSync(join(REPOSITORY, 'docker-compose.yml'), 'utf8'));
  expect(Object.keys(settings)).toEqual(expect.arrayContaining(Object.keys(services.assets.environment)));
  const ports = Object.values<{ ports?: readonly string[] }>(services).flatMap((service) => service.ports ?? []);
  expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
});

it('docs/run-in-production.md uses settings that exist', () => {
  const page = readFileSync(join(REPOSITORY, 'docs/run-in-production.md'), 'utf8');
  const [, manifest = ''] = /^```yaml\n(.*?)^```$/ms.exec(page) ?? [];
  const [container] = parse(manifest).spec.template.spec.containers;
  const [, file = ''] = /^```ini\n# \.env(.*?)^```$/ms.exec(page) ?? [];
  const named = [...container.env.map(({ name }: { name: string }) => name), ...(file.match(/^[A-Z_]+/gm) ?? [])];
  expect(named.length).toBeGreaterThan(6);
  expect(Object.keys(settings)).toEqual(expect.arrayContaining(named));
});
