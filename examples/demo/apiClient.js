/** A client of the service as an integrator would write one: tokens, JSON, and a check of every answer. */

export class ApiClient {
  #origin;
  #headers;

  /** @param tenant named by X-Tenant, since many programs cannot resolve names below `localhost` */
  constructor(origin, tenant) {
    this.#origin = origin;
    this.#headers = { 'Content-Type': 'application/json', 'X-Tenant': tenant };
  }

  /** OAuth client credentials (RFC 6749 §4.4). */
  async useClientCredentials({ client_id, client_secret }) {
    const grant = { grant_type: 'client_credentials', client_id, client_secret };
    const { access_token: token } = await this.request('POST', '/oauth/token', grant);
    this.#headers.Authorization = `Bearer ${token}`;
  }

  /** Signs in as a user of the platform. */
  async signIn(email, password) {
    const { data } = await this.request('POST', '/api/v1/platform/session', { email, password });
    this.#headers.Authorization = `Bearer ${data.token}`;
  }

  /** @returns the parsed body. @throws Error for any status over 299 */
  async request(method, path, body) {
    const answer = await fetch(this.#origin + path, { method, headers: this.#headers, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }
}

/** Runs `work`, then prints count, speed, and the note that it returns. */
export async function timedStep(title, total, unit, work) {
  const started = performance.now();
  const note = await work();
  const seconds = (performance.now() - started) / 1000;
  const rate = Math.round(total / seconds).toLocaleString('en');
  console.log(`${title}: ${total.toLocaleString('en')} ${unit} in ${seconds.toFixed(1)} s, ${rate} a second; ${note}`);
}
