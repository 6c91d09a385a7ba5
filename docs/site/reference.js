/** Shows the tenant's own description of the API, and makes calls as an API client, as a person, or as both. */
const explorer = document.querySelector('openapi-explorer');
const state = document.querySelector('#state');
const problem = document.querySelector('#problem');
const [clientForm, personForm, passwordForm] = ['#client', '#person', '#password'].map((id) =>
  document.querySelector(id),
);

/** Tokens by the description's security schemes. Only this page has them; a reload forgets them. */
const tokens = {};
/** The names of their client and person. */
const names = {};

/** Text is Markdown to the component, and to Markdown `<field>` is a tag. */
const withoutTags = (key, value) =>
  (key === 'description' || key === 'summary' || key === 'title') && typeof value === 'string'
    ? value.replaceAll('<', '‹').replaceAll('>', '›')
    : value;

/** @throws Error with the service's message */
async function answerOf(path, { body, token, ...options } = {}) {
  const headers = {
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
  };
  // Without cookies, no other page's session is used, and the browser opens no password dialog.
  const sent = { ...options, headers, credentials: 'omit', body: body && JSON.stringify(body) };
  const answer = await fetch(path, sent).catch(() => {
    throw new Error('The service cannot be reached.');
  });
  const text = await answer.text();
  if (answer.ok) return text;
  let said = text;
  try {
    const { message, error, error_description: reason } = JSON.parse(text);
    said = reason ?? [message, error].filter((part) => part !== undefined).join(' ');
  } catch {}
  throw new Error(`${said} (${answer.status})`);
}

const dataOf = async (path, body, token) => JSON.parse(await answerOf(path, { method: 'POST', body, token }));

const onceLoaded = () => new Promise((done) => explorer.addEventListener('spec-loaded', done, { once: true }));

const COMPARED = ['gte', 'lt'];

/** The component shows one line for a parameter: for a filter with text or operators, the text. */
const inOneLine = (whole) => {
  const { style, explode, example, ...parameter } = whole;
  if (style !== 'deepObject') return [whole];
  const { name, schema } = parameter;
  if (schema.anyOf !== undefined) return [{ ...parameter, schema: schema.anyOf[0] }];
  // The fields of a table named in the path are unknown.
  if (schema.$ref === undefined) return [];
  return COMPARED.map((operator) => ({ ...parameter, name: `${name}[${operator}]`, schema: { type: 'string' } }));
};

/** The description in a form that the component can show. */
function shown(description) {
  description.servers = [{ url: location.origin }];
  const { securitySchemes } = description.components;
  // Tokens come from the forms of this page; the component itself would send them without `Bearer`.
  securitySchemes.oauth2 = { type: 'http', scheme: 'bearer', description: securitySchemes.oauth2.description };
  // A script cannot set the session cookie.
  delete securitySchemes.session;
  for (const operation of Object.values(description.paths).flatMap((path) => Object.values(path))) {
    if (operation.responses === undefined) continue;
    operation.security = operation.security.filter((scheme) => scheme.session === undefined);
    operation.parameters = (operation.parameters ?? []).flatMap(inOneLine);
  }
  return description;
}

/** @param token undefined for the public description */
async function show(token) {
  const description = JSON.parse(await answerOf('/openapi.json', { token }), withoutTags);
  const loaded = onceLoaded();
  explorer.loadSpec(shown(description));
  await loaded;
  for (const [scheme, each] of Object.entries(tokens)) {
    await explorer.setAuthenticationConfiguration(scheme, { token: each });
  }
  const { length } = description.tags.filter(({ name }) => name.startsWith('dyn_'));
  const callers = Object.values(names);
  state.textContent = `${description.info.title}: ${length} tables. ${
    callers.length === 0
      ? 'Name an API client to call /dynamic-assets, or sign in to call /platform; either shows tables of your own.'
      : `Calls are made as ${callers.join(', and ')}.`
  }`;
}

async function use(scheme, token, name) {
  tokens[scheme] = token;
  names[scheme] = name;
  await show(token);
}

/** A form that shows errors and is sent once at a time. */
function onSubmit(form, act) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const button = form.querySelector('button');
    button.disabled = true;
    await orSay(() => act(form.elements));
    button.disabled = false;
  });
}

async function orSay(act) {
  problem.textContent = '';
  try {
    await act();
  } catch (error) {
    problem.textContent = error.message;
  }
}

onSubmit(clientForm, async ({ id, secret }) => {
  const { access_token: token } = await dataOf('/oauth/token', {
    grant_type: 'client_credentials',
    client_id: id.value.trim(),
    client_secret: secret.value.trim(),
  });
  secret.value = '';
  await use('oauth2', token, `the client ${id.value.trim()}`);
});

const asPerson = ({ token, user }) =>
  use('platform', token, `${user.first_name} ${user.last_name} (${user.roles.join(', ')})`);

/** While a password for the first sign-in has to be changed. */
let first;

onSubmit(personForm, async ({ email, password }) => {
  const sent = { email: email.value.trim(), password: password.value };
  const { data } = await dataOf('/api/v1/platform/session', sent);
  passwordForm.hidden = !data.user.must_change_password;
  if (data.user.must_change_password) {
    first = { token: data.token, password: sent.password };
    passwordForm.elements.chosen.focus();
    throw new Error('This password is for the first sign-in alone: choose one of your own under "New password".');
  }
  password.value = '';
  await asPerson(data);
});

onSubmit(passwordForm, async ({ chosen }) => {
  const sent = { old_password: first.password, new_password: chosen.value };
  const { data } = await dataOf('/api/v1/platform/session/password', sent, first.token);
  first = undefined;
  chosen.value = '';
  personForm.elements.password.value = '';
  passwordForm.hidden = true;
  await asPerson(data);
});

orSay(() => show(undefined));
