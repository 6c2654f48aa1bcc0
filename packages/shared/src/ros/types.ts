/** The grammar of interface type names: `pkg/msg/Name`, `pkg/srv/Name`, `pkg/action/Name`. */

export type InterfaceKind = 'msg' | 'srv' | 'action';

/** What a name is not, in words for whoever wrote it. */
export class TypeNameError extends Error {
  override readonly name = 'TypeNameError';
  constructor(
    readonly typeName: string,
    readonly expected: string,
  ) {
    super(`expected ${expected}, got ${JSON.stringify(typeName.slice(0, 200))}`);
  }
}

// As rosidl has them; written without nested repetition, so that no input makes them slow.
const PACKAGE = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;
const INTERFACE = /^[A-Z][A-Za-z0-9]*$/;
/** The parts of services and actions are messages too: `Name_Request`, `Name_Goal`, `Name_FeedbackMessage`, … */
const INTERFACE_PART = /^[A-Z][A-Za-z0-9]*(?:_[A-Z][A-Za-z]*)*$/;
const KINDS: readonly string[] = ['msg', 'srv', 'action'] satisfies InterfaceKind[];
/** Longer names are refused unread. */
const TYPE_NAME_MAX = 255;

const KIND_WORDS = { msg: 'a message type', srv: 'a service type', action: 'an action type' } as const;

/**
 * The full name of a type: `pkg/Name` and `pkg/kind/Name` are accepted, any other kind is refused.
 * @throws TypeNameError
 */
export function normalizeTypeName(text: string, kind: InterfaceKind): string {
  const expected = `${KIND_WORDS[kind]} pkg/${kind}/Name`;
  if (text.length > TYPE_NAME_MAX) throw new TypeNameError(text, `${expected} of at most ${TYPE_NAME_MAX} characters`);
  const parts = text.split('/');
  if (parts.length !== 2 && parts.length !== 3) throw new TypeNameError(text, expected);
  const pkg = parts[0] ?? '';
  const given = parts.length === 3 ? parts[1] : kind;
  const name = parts[parts.length - 1] ?? '';
  if (given !== kind) throw new TypeNameError(text, expected);
  if (!PACKAGE.test(pkg)) {
    throw new TypeNameError(text, `${expected} whose package is lower case letters, digits and single underscores`);
  }
  if (!INTERFACE.test(name)) {
    throw new TypeNameError(text, `${expected} whose Name is in CamelCase: letters and digits after a capital letter`);
  }
  return `${pkg}/${kind}/${name}`;
}

/**
 * The parts of a full name; those of services' and actions' own messages (`pkg/srv/Name_Request`) as well.
 * @throws TypeNameError
 */
export function splitTypeName(full: string): { pkg: string; kind: InterfaceKind; name: string } {
  const [pkg = '', kind = '', name = '', ...rest] = full.slice(0, TYPE_NAME_MAX + 1).split('/');
  const known = isKind(kind);
  if (full.length > TYPE_NAME_MAX || rest.length > 0 || !known || !PACKAGE.test(pkg) || !INTERFACE_PART.test(name)) {
    throw new TypeNameError(full, 'a full type name pkg/msg|srv|action/Name');
  }
  return { pkg, kind, name };
}

function isKind(text: string): text is InterfaceKind {
  return KINDS.includes(text);
}
