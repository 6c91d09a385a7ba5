/** Shows the tenant's own description of the API; asks for a client where the service wants to know who reads it. */
const explorer = document.querySelector('openapi-explorer');
const form = document.querySelector('#access');
const state = document.querySelector('#state');

/** Text is Markdown to the component, and to Markdown `<field>` is a tag. */
const withoutTags = (key, value) =>
  (key === 'description' || key === 'summary' || key === 'title') && typeof value === 'string'
    ? value.replaceAll('<', '‹').replaceAll('>', '›')
    : value;

/** @throws Error with what the service says */
async function answerOf(path, options) {
  const answer = await fetch(path, options);
  const text = await answer.text();
  if (answer.ok) return text;
  let said = text;
  try {
    const { message, error, error_description: reason } = JSON.parse(text);
    said = reason ?? `${message} ${error ?? ''}`;
  } catch {}
  throw new Error(`${answer.status}: ${said}`);
}

const onceLoaded = () => new Promise((done) => explorer.addEventListener('spec-loaded', done, { once: true }));

/** @param token of a client of the tenant; undefined for what anybody may see */
async function show(token) {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const description = JSON.parse(await answerOf('/openapi.json', { headers }), withoutTags);
  description.servers = [{ url: location.origin }];
  // The token comes from the form of this page; the component's own way sends what it gets without `Bearer`.
  description.components.securitySchemes.oauth2 = { type: 'http', scheme: 'bearer' };
  const loaded = onceLoaded();
  explorer.loadSpec(description);
  await loaded;
  if (token !== undefined) await explorer.setAuthenticationConfiguration('oauth2', { token });
  const { length } = description.tags;
  state.textContent = `${description.info.title}: ${length} tables. ${
    token === undefined
      ? 'Enter an API client to make calls, and to see tables of your own.'
      : 'Calls are made as your client.'
  }`;
}

async function orSay(act) {
  try {
    await act();
  } catch (error) {
    state.textContent = error.message;
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  orSay(async () => {
    const { id, secret } = form.elements;
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: id.value.trim(),
      client_secret: secret.value.trim(),
    });
    const { access_token: token } = JSON.parse(await answerOf('/oauth/token', { method: 'POST', body }));
    secret.value = '';
    await show(token);
  });
});

orSay(() => show(undefined));
