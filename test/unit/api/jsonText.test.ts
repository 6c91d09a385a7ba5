import { parseJson } from '#app/api/jsonText.js';

const refusal = async (text: string): Promise<string> => {
  try {
    await parseJson(text);
  } catch (error) {
    return String(Reflect.get(Object(error), 'reason'));
  }
  throw new Error('was accepted');
};

describe('numbers', () => {
  it.each([
    '0',
    '-0.5',
    '12345678901234.5',
    '123456789012345',
    '0.1234567890123456',
    '1e21',
    '1.5E+3',
    '100000000000000000000000',
    '0.50000000000000000000000',
    '5e-324',
    '9007199254740991',
    '0e999',
  ])('%s, which a double holds, is a number', async (number) => {
    expect(await parseJson(`{"a":${number}}`)).toEqual({ a: Number(number) });
  });

  it.each([
    '12345678901234567890',
    '0.12345678901234567890',
    '-9007199254740993',
    '1e400',
    '1e-400',
    '1.00000000000000000001',
    `1${'0'.repeat(400)}`,
    '1234567890123456.5e10',
    '3e-324',
    '1.23456789e-320',
  ])('%s, which a double would round, is an object that no field takes, with its text', async (number) => {
    expect(await parseJson(`[${number}, 1]`)).toEqual([{ number }, 1]);
  });

  it('where any value may stand, such a number is refused instead', async () => {
    await expect(parseJson('{"a":1e400}', 'refused')).rejects.toThrow('Bad request');
    expect(await parseJson('{"a":1e40,"b":"12345678901234567890"}', 'refused')).toEqual({
      a: 1e40,
      b: '12345678901234567890',
    });
  });

  it('digits within a string are left alone', async () => {
    const value = { a: '12345678901234567890', 'b"12345678901234567890': '\\', c: '\\"12345678901234567890' };
    expect(await parseJson(JSON.stringify(value))).toEqual(value);
  });

  it.each([
    '{12345678901234567890:1}',
    '{12345678901234567890 :1}',
    '[01234567890123456789]',
    '[-]',
    '[1.]',
    '[.5]',
    '[1e]',
    '[1e+]',
    '[+1]',
    '[12345678901234567890.1.2]',
    '"a"12345678901234567890',
    '12345678901234567890"a"',
  ])('%s is no JSON', async (text) => {
    expect(await refusal(text)).toBe('The body is not valid JSON.');
  });
});

describe('limits', () => {
  it('32 levels are read, one more is not, and brackets in strings are no levels', async () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(await parseJson(nested(32))).toBeDefined();
    expect(await refusal(nested(33))).toBe('The body is nested deeper than 32 levels.');
    expect(await parseJson(JSON.stringify(['['.repeat(100)]))).toEqual(['['.repeat(100)]);
  });

  it('210,000 values are read, one more is not', async () => {
    expect(await parseJson(`[${'0,'.repeat(209_998)}0]`)).toHaveLength(209_999);
    expect(await refusal(`[${'0,'.repeat(209_999)}0]`)).toBe('The body has more than 210000 values.');
  });

  it('1,000 digits are read, one more is not', async () => {
    const digits = '7'.repeat(1_000);
    expect(await parseJson(`[${digits}]`)).toEqual([{ number: digits }]);
    for (const number of [`7${digits}`, `1.7${digits}`, `1e7${digits}`]) {
      expect(await refusal(number)).toBe('A number in the body has more than 1000 digits.');
    }
  });

  it('an object of 10,000 members is read, one more is not', async () => {
    const object = (members: number) => `{${Array.from({ length: members }, (_, n) => `"k${n}":{}`).join(',')}}`;
    expect(await parseJson(`{"a":${object(10_000)},"b":${object(10_000)}}`)).toBeDefined();
    expect(await refusal(`[${object(10_001)}]`)).toBe('The body has an object of more than 10000 members.');
  });
});

describe('long arrays, which are parsed in pieces', () => {
  const item = (n: number) =>
    `{"id":${n},"text":"${'x'.repeat(1_000)}","more":[1,2,{"a":"],["}],"long":12345678901234567890}`;
  const items = Array.from({ length: 1_000 }, (_, n) => item(n)).join(',');

  it.each([
    `{"items":[${items}]}`,
    ` { "before" : [1] , "items" : [ ${items} ] , "after" : {"b":[2]} } `,
    `{"one":[${items}],"two":[${items}]}`,
    `{"__proto__":[${items}]}`,
    `[[${items}]]`,
    `{"a":{"b":[${items}]}}`,
    `[${items}]`,
  ])('case %# is what JSON.parse makes of it', async (text) => {
    const expected = JSON.parse(text.replaceAll('12345678901234567890', '{"number":"12345678901234567890"}'));
    expect(JSON.stringify(await parseJson(text))).toBe(JSON.stringify(expected));
  });

  it.each([
    `{"items":[${items},]}`,
    `{"items":[${items}, ]}`,
    `{"items":[${items},,${items}]}`,
    `{"items":[,${items}]}`,
    `{"items":[${items}}`,
    `{"items":[${items}]`,
    `{"items":[${items}},"a":[1]`,
    `{"items":[${items} ${items}]}`,
    `{"items":[${items},{]}`,
    `{"items":[${items},{]]}`,
    `{"items":[${items}]]`,
    `{[${items}]}`,
    `{"items":[${items}]}x`,
  ])('case %# is no JSON', async (text) => {
    expect(await refusal(text)).toBe('The body is not valid JSON.');
  });
});

describe('RFC 8259 §4: a name twice in one object is refused with its path', () => {
  const many = Array.from({ length: 1_000 }, (_, n) => `{"id":${n},"text":"${'x'.repeat(1_000)}"}`).join(',');

  it.each([
    ['{"a":1,"a":1}', 'a'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"\\ud83d\\ude9a":1,"🚚":2}', '🚚'],
    ['{"a\\"b":1,"a\\u0022b":2}', 'a"b'],
    ['{"a":{"b":1},"c":[0,{"d":[[],{"e":1,"f":2,"e":3}]}]}', 'c.1.d.1.e'],
    ['[{"a":1},{"a":1 , "a" :2}]', '1.a'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"constructor":1,"constructor":2}', 'constructor'],
    ['{"":1,"":2}', ''],
    ['{"1":1,"0":1,"1":2}', '1'],
    ['{"a":{"x":1},"a":{"y":1}}', 'a'],
    ['{"a":12345678901234567890,"a":1}', 'a'],
    ['{"a":1,"a":12345678901234567890}', 'a'],
    ['{"a":1,"a":1,"b":[1e400]}', 'a'],
    ['{"b":1e400,"c":[1e400],"a":1,"a":1}', 'a'],
    [`{"items":[${many}],"items":[1]}`, 'items'],
    [`{"items":[1],"items":[${many}]}`, 'items'],
    [`{"items":[${many},{"id":1,"id":2}]}`, 'items.1000.id'],
    [`{"${'n'.repeat(100)}":1,"${'n'.repeat(100)}":2}`, `${'n'.repeat(64)}…`],
  ])('case %#', async (text, path) => {
    expect(await refusal(text)).toBe(`The body has ${path} twice.`);
  });

  it.each([
    '{"a":"b","b":"a"}',
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}',
    '{"a":"\\"a\\":1,\\"a\\":2"}',
    '{"a":1e400,"b":[1e400,{"a":1e400}]}',
    '1e400',
    '{"é":1,"e\u0301":2}',
    '{"a":1,"A":2}',
    '{"a":[":",":"],"b:":":"}',
    '[]',
    '":"',
  ])('%s has none', async (text) => {
    expect(await parseJson(text)).toEqual(JSON.parse(text.replaceAll('1e400', '{"number":"1e400"}')));
  });
});
