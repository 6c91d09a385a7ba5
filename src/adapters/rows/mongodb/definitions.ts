/** Asset types of spaces, and which slots their fields have. Tenants with equal tables share them. */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import { isSought } from '../../../domain/row.js';
import { RowsUnavailableError } from '../../../ports/rowStore.js';
import type { Database } from './connection.js';
import type { DefinitionDocument, Slots } from './documents.js';

/** `slots`: of sought fields. */
export type Definition = { readonly id: string; readonly assetType: AssetType; readonly slots: Slots };

const MOST_KNOWN = 1_000;

export class Definitions {
  readonly #known = new LRUCache<string, Definition>({ max: MOST_KNOWN });

  async get({ definitions }: Database, id: string): Promise<Definition> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const stored = await definitions.findOne({ _id: id });
    if (stored === null) throw new RowsUnavailableError('A definition of rows is not in MongoDB.');
    return this.#know(stored);
  }

  /** Stores the definition for this asset type. @param before the one that the space has */
  async put({ definitions }: Database, assetType: AssetType, before?: Definition): Promise<Definition> {
    const kept = [...(before?.slots.keys() ?? [])];
    const added = assetType.fields.filter((field) => isSought(field) && !kept.includes(field.name));
    const slots = [...kept, ...added.map(({ name }) => name)];
    const content = { assetType: JSON.stringify(assetType), slots };
    const _id = createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 22);
    const known = this.#known.get(_id);
    if (known !== undefined) return known;
    await definitions.updateOne({ _id }, { $setOnInsert: content }, { upsert: true });
    return this.#know({ _id, ...content });
  }

  #know({ _id: id, assetType, slots }: DefinitionDocument): Definition {
    const definition = {
      id,
      assetType: JSON.parse(assetType),
      slots: new Map(slots.map((name, slot) => [name, slot])),
    };
    this.#known.set(id, definition);
    return definition;
  }
}
