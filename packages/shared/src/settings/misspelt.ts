import { nearestName } from '../ros/describe-value.js';

const PREFIX = 'DROVER_';

/**
 * Warnings about variables of an environment that look like a setting written wrongly, each with the setting that was
 * probably meant. Only near misses: many other variables may begin with DROVER_ (the other program's settings where
 * both run on one machine, those that orchestrators make of a service's name, a user's own).
 * @param known every variable that the program reads
 */
export function misspeltSettings(
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): readonly string[] {
  const nameOf = (variable: string) => variable.slice(PREFIX.length).toLowerCase();
  return Object.keys(env).flatMap((variable) => {
    if (!variable.toUpperCase().startsWith(PREFIX) || known.includes(variable)) return [];
    // Without what they all begin with: it would make any two look alike.
    const near = nearestName(nameOf(variable), known.map(nameOf));
    return near === null
      ? []
      : [`${variable} is no setting and is ignored; did you mean ${PREFIX}${near.toUpperCase()}?`];
  });
}
