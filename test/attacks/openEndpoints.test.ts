/** What somebody without a token sees: nothing that tells who the tenants are, or what they have. */
import { MAX_OPENAPI_BYTES } from '#app/domain/limits.js';
import { expectRefused } from '../acceptance/refusals.js';
import { useService } from '../acceptance/useService.js';

const { acme, service, tenant } = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });
/** A proxy on this machine adds it: the caller is elsewhere. */
const ELSEWHERE = { 'x-forwarded-for': '192.0.2.1' };

const OWN = ['dyn_secret_project', 'secret_field'];

beforeAll(async () => {
  const fields = [{ name: 'external_id', type: 'String', required: true }];
  await acme().platformData('POST', '/asset-types', { name: 'dyn_secret_project', label: 'Secret label', fields });
  await acme().platformData('POST', '/asset-types/dyn_item/fields', { name: 'secret_field', type: 'String' });
});

describe('/openapi.json', () => {
  const ask = (
    options: { token?: string | null; headers?: { readonly [name: string]: string }; query?: string } = {},
  ) => acme().send('GET', '/openapi.json', { token: null, ...options });

  it('shows the standard tables to anyone, and nothing that the tenant has added', async () => {
    const { status, text } = await ask({ headers: ELSEWHERE });
    expect(status).toBe(200);
    expect(text).toContain('"dyn_order_line"');
    expect(text).toContain('"title":"Dynamic Assets API"');
    for (const secret of OWN) expect(text).not.toContain(secret);
  });

  it('shows all to a client and a user of the tenant', async () => {
    const cookie = { cookie: `da_session=${await acme().signIn()}` };
    for (const { text } of [
      await ask({ headers: ELSEWHERE, token: await acme().token('read:order_data') }),
      await ask({ headers: ELSEWHERE, token: await acme().signIn() }),
      await ask({ headers: { ...ELSEWHERE, ...cookie } }),
    ])
      for (const own of OWN) expect(text).toContain(own);
  });

  it('is 401 for a token that is not good here', async () => {
    for (const token of ['nonsense', await tenant('other').token(), await tenant('other').signIn()])
      await expectRefused(service(), 401, () => ask({ token, headers: ELSEWHERE }));
  });

  it('of many wide tables at once it is 413, and says where each is described', async () => {
    const wide = tenant('other');
    const column = (n: number) => ({ name: `column_number_${n}`, type: 'String', filterable: true, sortable: true });
    const columns = Array.from({ length: 199 }, (_, n) => column(n));
    const fields = [{ name: 'external_id', type: 'String', required: true }, ...columns];
    for (let n = 0; n < 32; n += 1) await wide.platformData('POST', '/asset-types', { name: `dyn_wide_${n}`, fields });
    const refused = await expectRefused(service(), 413, () => wide.send('GET', '/openapi.json'));
    expect(refused.text).toContain(`is over ${MAX_OPENAPI_BYTES} bytes; GET …/<table>/info`);
  });
});
