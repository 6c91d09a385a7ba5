import { decode } from '#app/adapters/eventstore/eventstoredb/encoding.js';
import { decodeEvent } from '#app/adapters/eventstore/sqlite/encoding.js';
import { canonicalJson, leafOf } from '#app/audit/logTree.js';

test('RFC 8785 §3.2.2: numbers, text and literals', () => {
  const value = JSON.parse(
    '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
  );
  expect(canonicalJson(value)).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

test('RFC 8785 §3.2.3: members are sorted by UTF-16 code units', () => {
  const value = JSON.parse(
    '{"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\\ud83d\\ude00":"Emoji: Grinning Face","\\u0080":"Control","\\u00f6":"Latin Small Letter O With Diaeresis"}',
  );
  expect([...canonicalJson(value).matchAll(/:"([^"]*)"/g)].map(([, text]) => text)).toEqual([
    'Carriage Return',
    'One',
    'Control',
    'Latin Small Letter O With Diaeresis',
    'Euro Sign',
    'Emoji: Grinning Face',
    'Hebrew Letter Dalet With Dagesh',
  ]);
});

test('a name that every object has, and a lone surrogate, are members and text like others', () => {
  expect(canonicalJson(JSON.parse('{"b":"\\ud800","__proto__":{"a":1},"10":1,"9":2}'))).toBe(
    '{"10":1,"9":2,"__proto__":{"a":1},"b":"\\ud800"}',
  );
});

test('an event has the same leaf from both engines, whatever its position', () => {
  const data = { qty: 0.1, name: 'Zoë 😀', nested: { b: [1e21, -0.5], a: null } };
  const metadata = {
    tenant: 'acme',
    actor: { kind: 'user', id: '7', name: 'Ångström' },
    correlationId: 'c',
    causationId: 'd',
    occurredAt: '2026-11-21T03:11:47.123456Z',
    schemaVersion: 2,
  } as const;
  const { tenant, actor, correlationId, causationId, occurredAt } = metadata;
  const embedded = decodeEvent({
    position: 7,
    revision: 3,
    following: 0,
    id: '0193b0aa5c1e7c3f8f1e2d3c4b5a6978',
    stream: 'order-acme.1',
    type: 'OrderChanged',
    schema_version: 2,
    metadata: JSON.stringify([tenant, actor, correlationId, causationId, occurredAt]),
    data: JSON.stringify(data),
  });
  const stored = decode({
    streamId: 'order-acme.1',
    id: '0193b0aa-5c1e-7c3f-8f1e-2d3c4b5a6978',
    revision: 3n,
    type: 'OrderChanged',
    created: new Date(0),
    isJson: true,
    data: JSON.parse(JSON.stringify({ nested: data.nested, name: data.name, qty: data.qty })),
    metadata: { ...metadata, part: { append: 'a', index: 0, count: 1, split: false } },
    position: { commit: 912n, prepare: 912n },
  });
  const leaf = leafOf(embedded);
  expect(stored && leafOf(stored.event)).toBe(leaf);
  expect(leaf).toBe(
    '{"data":{"name":"Zoë 😀","nested":{"a":null,"b":[1e+21,-0.5]},"qty":0.1},"id":"0193b0aa-5c1e-7c3f-8f1e-2d3c4b5a6978",' +
      '"metadata":{"actor":{"id":"7","kind":"user","name":"Ångström"},"causationId":"d","correlationId":"c",' +
      '"occurredAt":"2026-11-21T03:11:47.123456Z","schemaVersion":2,"tenant":"acme"},"revision":3,"stream":"order-acme.1","type":"OrderChanged"}',
  );
});
