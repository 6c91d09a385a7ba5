import { Command, InvalidArgumentError } from 'commander';
import { withExample } from '../output.js';
import type { DemoOptions } from './demo.js';

export function demoCommand(): Command {
  const definition = new Command('demo')
    .description(
      'Run the whole story over HTTP on real data: sync about 170,000 places in batches, create orders, export one by a signed webhook, read its history.',
    )
    .option('--locations <count>', 'at most this many places', wholeNumber, 1_000_000)
    .option('--orders <count>', 'this many orders', wholeNumber, 3000)
    .option('--data-dir <path>', 'keep the data here (default: a temporary directory, removed at the end)');
  return withExample(definition, 'dynamic-assets demo --locations 20000 --orders 500').action(
    // Its clients are loaded by this command alone: they take longer to load than most commands take.
    async (options: DemoOptions) => (await import('./demo.js')).demo(options),
  );
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 9999999.');
  return Number(text);
}
