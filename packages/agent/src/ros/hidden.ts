/** Whether ros2's lists leave a name out: it has a part that begins with `_`, as those inside actions do. */
export function isHidden(name: string): boolean {
  return name.split('/').some((part) => part.startsWith('_'));
}
