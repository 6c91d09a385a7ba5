/**
 * Does with the package openid-client what an integrator does: finds the endpoints by the issuer alone, gets a token each
 * way that is offered, and asks the API. A process of its own, since the package is an ES module.
 * Its argument is JSON: { issuer, clientId, clientSecret, scope? }. Prints what it found and got as JSON.
 */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import * as client from 'openid-client';

const { issuer, clientId, clientSecret, scope } = JSON.parse(process.argv[2]);

/** Names below localhost are not resolved everywhere, so each request goes to 127.0.0.1, for the host of its address. */
function fetchHere(address, { method, headers, body }) {
  const { host, port, pathname, search } = new URL(address);
  return new Promise((resolve, reject) => {
    const sent = { host: '127.0.0.1', port, method, path: pathname + search, headers: { ...headers, host } };
    const outgoing = request(sent, async (answer) => {
      resolve(new Response(await text(answer), { status: answer.statusCode, headers: answer.headers }));
    });
    outgoing.on('error', reject).end(body?.toString());
  });
}

const results = {};
for (const [method, authentication] of Object.entries({
  client_secret_post: client.ClientSecretPost(clientSecret),
  client_secret_basic: client.ClientSecretBasic(clientSecret),
  default: undefined,
})) {
  const config = await client.discovery(new URL(issuer), clientId, clientSecret, authentication, {
    algorithm: 'oauth2',
    execute: [client.allowInsecureRequests],
    [client.customFetch]: fetchHere,
  });
  const { access_token, token_type, expires_in } = await client.clientCredentialsGrant(config, scope ? { scope } : {});
  const tables = new URL('/api/v1/dynamic-assets/dyn', issuer);
  const answer = await client.fetchProtectedResource(config, access_token, tables, 'GET');
  const found = config.serverMetadata().token_endpoint;
  results[method] = { found, token_type, expires_in, status: answer.status, tables: (await answer.json()).data.length };
}
console.log(JSON.stringify(results));
