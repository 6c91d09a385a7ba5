/** Two machines that share the event log, MongoDB and RabbitMQ, with a data directory each. */
import { describeProductionEngines, startProductionEngines } from '../engines/productionEngines.js';
import { twoMachines } from '../faults/twoMachines.js';

async function start() {
  const { env, dispose } = await startProductionEngines();
  return { env: [env, env], size: () => undefined, dispose } as const;
}

describeProductionEngines(() => twoMachines(start, { atOnce: false }));
