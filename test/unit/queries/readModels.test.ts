import { openQueries } from '#app/queries/readModels.js';
import { describeLists } from '../../contract/readModelsLists.js';
import { describeRecords } from '../../contract/readModelsRecords.js';
import { describeAnswerSizes } from '../../contract/readModelsSizes.js';
import { MemoryRows } from '../../support/memoryRows.js';
import { WrittenRows } from '../../support/writtenRows.js';

const open = async () => {
  const rows = new MemoryRows();
  const writer = new WrittenRows(rows);
  const eventStore = { readSlice: async () => ({ events: [] }) };
  return { writer, readModels: openQueries({ rows: rows.reads, eventStore, tenants: writer }) };
};

describeLists('queries over rows in memory', open);
describeRecords('queries over rows in memory', open);
describeAnswerSizes('queries over rows in memory', open);
