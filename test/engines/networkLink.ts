/**
 * An engine as on a machine of its own, and the link to it. The machine is a network namespace, in which a process passes what
 * arrives on to the engine, through a file. Only root can have one.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';

const FORWARD = `
  const { connect, createServer } = require('node:net');
  const [host, port, path] = process.argv.slice(1);
  const forward = (client) => require('node:stream').pipeline(client, connect(path), client, () => undefined);
  createServer(forward).listen(Number(port), host, () => process.stdout.write('It listens.'));`;

const run = (...commands: readonly string[]) =>
  execFileSync('sh', ['-ec', commands.join('\n')], { stdio: ['ignore', 'ignore', 'pipe'] });

/** Why there is none; undefined when there is one. */
export function networkLinkMissing(): string | undefined {
  try {
    run('unshare --net ip link');
    return undefined;
  } catch {
    return 'only root may make network namespaces, with the command ip';
  }
}

/** @param engine its URL on this machine */
export async function linkTo(engine: string) {
  const { hostname, port, href } = new URL(engine);
  const [name, network] = [`link${port}`, `10.${Number(port) >> 8}.${Number(port) & 255}`];
  const socket = join(tmpdir(), `${name}.sock`);
  const server = createServer((client) => pipeline(client, connect(Number(port), hostname), client, () => undefined));
  await once(server.listen(socket), 'listening');
  run(
    `ip netns add ${name}`,
    `ip link add ${name} type veth peer name there netns ${name}`,
    // This end has no address: at each change of one, Chromium gives up requests that are just connecting.
    `sysctl -qw net.ipv6.conf.${name}.disable_ipv6=1`,
    `ip link set ${name} up`,
    `ip route add ${network}.2 dev ${name}`,
    `ip -n ${name} address add ${network}.2 dev there`,
  );
  const mend = () => run(`ip -n ${name} link set there up`, `ip -n ${name} route add default dev there`);
  mend();
  const within = ['netns', 'exec', name, process.execPath, '-e', FORWARD, `${network}.2`, port, socket];
  const forward = spawn('ip', within, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(forward.stdout, 'data');
  return {
    /** Of the engine, across the link. */
    url: href.replace(hostname, `${network}.2`),
    cut: () => run(`ip -n ${name} link set there down`),
    mend,
    async dispose() {
      const ended = once(forward, 'exit');
      forward.kill();
      await ended;
      run(`ip netns delete ${name}`);
      server.close();
    },
  };
}
export type Link = Awaited<ReturnType<typeof linkTo>>;
