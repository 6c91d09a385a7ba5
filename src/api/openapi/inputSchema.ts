import { z } from 'zod';
import type { JsonSchema } from './types.js';

/** Formats say more than the patterns zod writes beside them, and readers understand them. */
const FORMATS_WITHOUT_PATTERN: readonly unknown[] = ['uuid', 'date', 'date-time', 'email'];

/** JSON Schema (2020-12) of what a zod schema takes in, before its transformations. */
export function inputSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (FORMATS_WITHOUT_PATTERN.includes(jsonSchema.format)) delete jsonSchema.pattern;
    },
  });
  return json;
}
