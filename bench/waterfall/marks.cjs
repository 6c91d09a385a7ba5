/**
 * Loaded into the service and each of its threads before anything else (`--require`): notes when a write passes from one
 * part of the program to the next. Only Node's, SQLite's and the EventStoreDB client's own calls are watched, so the program
 * itself knows nothing of it.
 */
const { appendFileSync } = require('node:fs');
const http = require('node:http');
const { createRequire } = require('node:module');
const { BroadcastChannel, isMainThread, MessagePort, parentPort, Worker, workerData } = require('node:worker_threads');

const FLUSH_MS = 200;
/** Which of the program's threads this is; they are told by what they are started with. */
const thread = isMainThread
  ? 'main'
  : workerData?.durability !== undefined
    ? 'appender'
    : workerData?.projectorId !== undefined
      ? 'projector'
      : 'other';

let marks = [];
const mark = (name) => marks.push(`${process.hrtime.bigint()} ${name}\n`);

function flush() {
  if (marks.length > 0) appendFileSync(process.env.MARKS_FILE, marks.join(''));
  marks = [];
}
setInterval(flush, FLUSH_MS).unref();
process.on('exit', flush);

/** Replaces a method by one that is given the old one. */
const wrap = (owner, method, around) => {
  const before = owner[method];
  owner[method] = function (...args) {
    return around.call(this, (...changed) => before.apply(this, changed), ...args);
  };
};

/** When the projector heard of a commit last. */
let heardAt;

const load = createRequire(process.env.MARKS_PACKAGE);

const isLog = (channel) => channel.name.startsWith('event-log');

wrap(BroadcastChannel.prototype, 'postMessage', function (post, message) {
  post(message);
  mark(isLog(this) ? 'commit announced' : 'read models announced');
});

const { get, set } = Object.getOwnPropertyDescriptor(BroadcastChannel.prototype, 'onmessage');
Object.defineProperty(BroadcastChannel.prototype, 'onmessage', {
  get,
  set(listener) {
    const name = isLog(this) ? 'commit heard' : 'read models heard';
    set.call(this, (message) => {
      if (thread === 'projector') heardAt = process.hrtime.bigint();
      else mark(`${name} by ${thread}`);
      listener(message);
    });
  },
});

if (thread === 'main') {
  wrap(http.Server.prototype, 'emit', (emit, event, ...args) => {
    if (event === 'request') mark('request there');
    return emit(event, ...args);
  });
  wrap(http.IncomingMessage.prototype, 'emit', (emit, event, ...args) => {
    if (event === 'end') mark('body there');
    return emit(event, ...args);
  });
  wrap(http.ServerResponse.prototype, 'end', (end, ...args) => {
    const response = end(...args);
    mark('answered');
    return response;
  });
  wrap(Worker.prototype, 'on', (on, event, listener) =>
    on(event, (message, ...rest) => {
      if (Array.isArray(message)) mark('append answered');
      listener(message, ...rest);
    }),
  );
  wrap(Worker.prototype, 'postMessage', (post, message, ...rest) => {
    post(message, ...rest);
    if (message.stream !== undefined) mark('append sent');
  });
  if (process.env.EVENTSTORE_URL) {
    const { AppendReq, AppendResp, ReadResp } = load('@eventstore/db-client/generated/streams_pb.js');
    wrap(AppendReq.prototype, 'serializeBinary', (serialize) => {
      mark('append sent');
      return serialize();
    });
    wrap(AppendResp, 'deserializeBinary', (deserialize, ...args) => {
      mark('append answered');
      return deserialize(...args);
    });
    wrap(ReadResp, 'deserializeBinary', (deserialize, ...args) => {
      const answer = deserialize(...args);
      if (answer.hasEvent()) mark('event there');
      return answer;
    });
    wrap(MessagePort.prototype, 'postMessage', (post, message, ...rest) => {
      if (message?.slice !== undefined) mark('event passed on');
      post(message, ...rest);
    });
  }
} else if (thread === 'appender') {
  wrap(parentPort, 'on', (on, event, listener) =>
    on(event, (message) => {
      mark('append received');
      listener(message);
    }),
  );
  wrap(parentPort, 'postMessage', (post, answers) => {
    mark('log committed');
    post(answers);
  });
} else if (thread === 'projector') {
  wrap(load('@rocicorp/zero-sqlite3').prototype, 'exec', (exec, sql) => {
    if (sql === 'BEGIN IMMEDIATE') {
      if (heardAt !== undefined) marks.push(`${heardAt} commit heard by projector\n`);
      heardAt = undefined;
      mark('transaction wanted');
    }
    if (sql === 'COMMIT') mark('changes applied');
    const done = exec(sql);
    if (sql === 'BEGIN IMMEDIATE') mark('transaction begun');
    if (sql === 'COMMIT') mark('read models committed');
    return done;
  });
}
