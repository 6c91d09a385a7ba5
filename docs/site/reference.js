/** Shows the tenant's own description of the API, and makes calls as an API client, as a person, or as both. */
const { component } = document.querySelector('script[data-component]').dataset;
const [state, problem, dialog, clientForm, personForm, passwordForm] = [
  '#state',
  '#problem',
  '#access',
  '#client',
  '#person',
  '#password',
].map((id) => document.querySelector(id));

/** Tokens by the description's security schemes. Only this page has them; a reload forgets them. */
const tokens = {};
/** The names of their client and person. */
const names = {};

/** Without cookies, no other page's session is used, and the browser opens no password dialog of its own. */
const fetchAlone = (request, options) => fetch(request, { ...options, credentials: 'omit' });

/** @throws Error with the service's message */
async function answerOf(path, { body, token, ...options } = {}) {
  const headers = {
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
  };
  const sent = { ...options, headers, body: body && JSON.stringify(body) };
  const answer = await fetchAlone(path, sent).catch(() => {
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

/** Text is Markdown to the component, and to Markdown `<field>` is a tag. */
const withoutTags = (key, value) =>
  (key === 'description' || key === 'summary' || key === 'title') && typeof value === 'string'
    ? value.replaceAll('<', '‹').replaceAll('>', '›')
    : value;

/** The description in a form that the component can use. */
function shown(description) {
  description.servers = [{ url: location.origin }];
  const { securitySchemes } = description.components;
  securitySchemes.oauth2.flows.clientCredentials['x-scalar-credentials-location'] = 'body';
  // A script cannot set the session cookie.
  delete securitySchemes.session;
  for (const operation of Object.values(description.paths).flatMap((path) => Object.values(path)))
    operation.security = operation.security?.filter((scheme) => scheme.session === undefined);
  return description;
}

/** Calls of the platform are a person's, all others a client's. The component has one caller for all. */
function fetchAsCaller(request, options) {
  const sent = new Request(request, { ...options, credentials: 'omit' });
  const token = new URL(sent.url).pathname.startsWith('/api/v1/platform/') ? tokens.platform : tokens.oauth2;
  if (token !== undefined) sent.headers.set('Authorization', `Bearer ${token}`);
  return fetch(sent);
}

/** Nothing of it comes from another host or is sent to one. */
const SETTINGS = {
  telemetry: false,
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true, hideAddApi: true },
  mcp: { disabled: true },
  persistAuth: false,
  proxyUrl: '',
  defaultOpenFirstTag: false,
  expandAllParameters: false,
  documentDownloadType: 'none',
  customFetch: fetchAsCaller,
};

const loading = import(component);
let reference;

/** @param scheme whose token shows the description; undefined for the public one */
async function show(scheme) {
  const [text, { createApiReference }] = await Promise.all([
    answerOf('/openapi.json', { token: tokens[scheme] }),
    loading,
  ]);
  const description = shown(JSON.parse(text, withoutTags));
  const configuration = {
    ...SETTINGS,
    content: description,
    authentication: {
      preferredSecurityScheme: scheme ?? null,
      securitySchemes: {
        oauth2: { flows: { clientCredentials: { token: tokens.oauth2 ?? '' } } },
        platform: { token: tokens.platform ?? '' },
      },
    },
  };
  if (reference === undefined) reference = createApiReference('#reference', configuration);
  else reference.updateConfiguration(configuration);
  const callers = Object.values(names);
  state.textContent = callers.length === 0 ? 'Sign in to make calls.' : `Calls are made as ${callers.join(', and ')}.`;
}

async function use(scheme, token, name) {
  tokens[scheme] = token;
  names[scheme] = name;
  await show(scheme);
  dialog.close();
}

async function orSay(act) {
  problem.textContent = '';
  try {
    await act();
  } catch (error) {
    problem.textContent = error.message;
    if (!dialog.open) state.textContent = error.message;
  }
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

document.querySelector('#open').addEventListener('click', () => dialog.showModal());
document.querySelector('#close').addEventListener('click', () => dialog.close());

orSay(() => show(undefined));
