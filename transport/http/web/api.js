// The calls of the JSON API.

// Refused is an answer that is not 2xx, or none (status 0).
export class Refused extends Error {
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }

  // words says what it means to the person at the page.
  get words() {
    if (this.status === 0) return 'This node does not answer.';
    const said = this.message.charAt(0).toUpperCase() + this.message.slice(1);
    if (this.status === 401) return (token() ? 'The token was not taken: ' : 'This needs a token (the button is on top): ') + this.message;
    if (this.status === 403) return 'You may not do that: ' + this.message;
    return said;
  }
}

const key = 'floe-token';

// token is what goes along with each call, empty for none.
export function token() { return sessionStorage.getItem(key) ?? ''; }

export function useToken(text) {
  if (text === '') sessionStorage.removeItem(key);
  else sessionStorage.setItem(key, text);
}

const patience = 8000; // milliseconds

// call makes a call. The query's values may be lists; a body that is no text
// is sent as JSON. It returns the answer, JSON or text, and its headers.
export async function call(method, path, query = {}, body) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const v of [value].flat()) search.append(name, v);
  }
  const headers = { 'Floe-Timeout': String(patience) };
  if (token() !== '') headers.Authorization = 'Bearer ' + token();
  let answer, text;
  try {
    answer = await fetch(path + (search.size ? '?' + search : ''), {
      method, headers, cache: 'no-store', signal: AbortSignal.timeout(patience + 2000),
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    });
    text = await answer.text();
  } catch (e) {
    throw new Refused(0, 'unreachable', e.message);
  }
  let data = text;
  if ((answer.headers.get('Content-Type') ?? '').startsWith('application/json')) {
    try { data = JSON.parse(text); } catch { data = text; }
  }
  if (!answer.ok) throw new Refused(answer.status, data?.error?.kind ?? '', data?.error?.message ?? `the node answered with ${answer.status}`);
  return { data, headers: answer.headers };
}

// look is a read from the asked node's own copy: it works without a leader.
export const look = (path, query = {}) => call('GET', path, { ...query, stale: '1' });
