/** Shows the tenant's own description of the API, and makes calls as an API client, as a person, or as both. */
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

/** The component would send the example of each parameter, and an empty one of its own for a filter. */
function withExampleInText(parameter) {
  const { example, style, required } = parameter;
  if (required === true) return;
  if (example !== undefined) {
    const text = typeof example === 'string' ? example : JSON.stringify(example);
    parameter.description = `${parameter.description ?? ''} Such as \`${text}\`.`;
    delete parameter.example;
  }
  if (style === 'deepObject') parameter.example = {};
}

/** Beside its operations a path has the parameters of all of them. */
const operationsOf = ({ paths }) =>
  Object.values(paths).flatMap(({ parameters: _, ...operations }) => Object.values(operations));

/** The description in a form that the component can use: who may call is in the texts, as sign-in is this page's own. */
function shown(description) {
  const operations = operationsOf(description);
  const described = [...operations, ...Object.values(description.paths)];
  for (const parameter of described.flatMap(({ parameters = [] }) => parameters)) withExampleInText(parameter);
  for (const operation of operations) {
    const scopes = (operation.security ?? []).flatMap(({ oauth2, audit }) => oauth2 ?? audit ?? []);
    const needs = scopes.length === 0 ? '' : `Scope: ${scopes.map((scope) => `\`${scope}\``).join(' or ')}.`;
    operation.description = [operation.description, needs].filter(Boolean).join('\n\n');
    delete operation.security;
  }
  delete description.components.securitySchemes;
  return description;
}

/** Calls of the platform are a person's, all others a client's. */
function asCaller(request) {
  const token = new URL(request.url).pathname.startsWith('/api/v1/platform/') ? tokens.platform : tokens.oauth2;
  if (token !== undefined) request.headers.Authorization = `Bearer ${token}`;
  request.credentials = 'omit';
  return request;
}

/** The component reads each description as YAML, which takes seconds. */
const readAsJson = {
  statePlugins: {
    spec: {
      actions: {
        parseToJson:
          (text) =>
          ({ specActions }) =>
            specActions.updateJsonSpec(JSON.parse(text)),
      },
    },
  },
};

/** Both descriptions as one. */
function joined(clients, people) {
  const components = { ...people.components };
  for (const [kind, of] of Object.entries(clients.components)) components[kind] = { ...of, ...components[kind] };
  return { ...clients, paths: { ...clients.paths, ...people.paths }, components };
}

let reference;

/** @param scheme whose token shows the description; undefined for the public one */
async function show(scheme) {
  const [clients, people] = await Promise.all(
    ['clients', 'people'].map(async (audience) =>
      JSON.parse(await answerOf(`/openapi.json?for=${audience}`, { token: tokens[scheme] }), withoutTags),
    ),
  );
  const description = shown(joined(clients, people));
  if (reference === undefined)
    reference = SwaggerUIBundle({
      spec: description,
      domNode: document.querySelector('#reference'),
      deepLinking: true,
      docExpansion: 'none',
      defaultModelsExpandDepth: -1,
      tryItOutEnabled: true,
      displayRequestDuration: true,
      validatorUrl: null,
      requestInterceptor: asCaller,
      plugins: [readAsJson],
    });
  else reference.specActions.updateSpec(JSON.stringify(description));
  listOperations(description);
  const callers = Object.values(names);
  state.textContent = callers.length === 0 ? 'Sign in to make calls.' : `Calls are made as ${callers.join(', and ')}.`;
}

const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

/** All operations beside the text, by their tags, with a field that narrows the list. */
function listOperations(description) {
  const operations = operationsOf(description);
  const named = new Set(operations.flatMap((operation) => operation.tags ?? []));
  const groups = [...named].map((name) => {
    const items = operations
      .filter((operation) => operation.tags?.includes(name))
      .map(({ operationId, summary }) => {
        const link = make('a', { href: `#/${encodeURIComponent(name)}/${operationId}` }, summary);
        link.addEventListener('click', (event) => {
          event.preventDefault();
          open(name, operationId);
        });
        return make('li', {}, link);
      });
    return make('details', {}, make('summary', {}, name), make('ul', {}, ...items));
  });
  const field = make('input', { type: 'search', placeholder: 'Find an operation', ariaLabel: 'Find an operation' });
  field.addEventListener('input', () => {
    const text = field.value.trim().toLowerCase();
    for (const group of groups) {
      const isWhole = group.firstChild.textContent.toLowerCase().includes(text);
      const items = [...group.querySelectorAll('li')];
      for (const item of items) item.hidden = !isWhole && !item.textContent.toLowerCase().includes(text);
      group.hidden = items.every((item) => item.hidden);
      group.open = text !== '' && !group.hidden;
    }
  });
  document.querySelector('#pages').replaceChildren(field, ...groups);
}

/** Unfolds an operation and moves it into view. */
function open(tag, operationId) {
  const { layoutActions } = reference;
  layoutActions.show(['operations-tag', tag], true);
  layoutActions.show(['operations', tag, operationId], true);
  document.body.classList.remove('with-pages');
  requestAnimationFrame(() => document.querySelector(`[id$="-${operationId}"].opblock`)?.scrollIntoView());
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
