import { describeQueries } from '../../contract/queries.js';
import { MemoryRows } from '../../support/memoryRows.js';

describeQueries('arrays in memory', async () => {
  const writer = new MemoryRows();
  return { writer, reads: writer.reads };
});
