/** Noise about zero with nearly the given standard deviation, within ±3 of it; much cheaper than a true normal. */
export function noise(random: () => number, deviation: number): number {
  // Three uniform numbers have a variance of 3/12.
  return (random() + random() + random() - 1.5) * 2 * deviation;
}

/** A square covariance matrix with these variances on its diagonal, row by row. */
export function covariance(...variances: number[]): Float64Array {
  const matrix = new Float64Array(variances.length ** 2);
  variances.forEach((variance, index) => {
    matrix[index * (variances.length + 1)] = variance;
  });
  return matrix;
}
