import type { Commands } from '../context.js';
import { TableWriter } from './tableWriter.js';

const writers = new WeakMap<Commands, TableWriter>();

/** The one table writer that belongs to these commands. */
export function tableWriterOf(commands: Commands): TableWriter {
  let writer = writers.get(commands);
  if (writer === undefined) {
    writer = new TableWriter(commands);
    writers.set(commands, writer);
  }
  return writer;
}
