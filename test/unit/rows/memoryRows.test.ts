/** The model of rows is held to the contract of every engine. */
import { describeRows } from '../../contract/rowStore.js';
import { MemoryRows } from '../../support/memoryRows.js';

describeRows('the model', async () => {
  const writer = new MemoryRows();
  return { writer, reads: writer.reads };
});
