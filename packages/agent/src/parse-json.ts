/** What the text is as JSON; null where it is none, which a schema then refuses. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
