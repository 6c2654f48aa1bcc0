/**
 * A source as it came in a path or a query, decoded once by the HTTP server. Clients that take the spec at its word encode it
 * themselves and have their HTTP library encode it again; no ROS name has a % in it, so undoing that is safe.
 */
export function sourceName(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
