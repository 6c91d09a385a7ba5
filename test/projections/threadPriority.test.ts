/** Where processors are short, rows give way to requests. */
import { readdirSync, readFileSync } from 'node:fs';
import { startService } from '../acceptance/service.js';

const env = { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '' };
/** The lowest there is: these tests may themselves run with a low one. */
const LOWEST = 19;
/** In /proc/<pid>/task/<thread>/stat, counted behind the name. */
const NICE_FIELD = 16;

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('the thread that follows the log has a lower priority than all others', async () => {
  const service = await startService({ tenants: { acme: 'dyn_stock_order' }, env });
  await service.tenant('acme').create('dyn_item', { external_id: 'A1', name: 'Tea' });
  await service.tenant('acme').list('dyn_item');
  const tasks = `/proc/${service.pid}/task`;
  const niceOf = (thread: string): number => {
    const stat = readFileSync(`${tasks}/${thread}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[NICE_FIELD]);
  };
  const usual = niceOf(String(service.pid));
  const others = readdirSync(tasks)
    .map((thread) => niceOf(thread) - usual)
    .filter((lower) => lower !== 0);
  await service.dispose();
  const lower = Math.min(5, LOWEST - usual);
  expect(others).toEqual(lower === 0 ? [] : [lower]);
});
