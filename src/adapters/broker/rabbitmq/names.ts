/** What the queues and exchanges on the server are called. */

export const deadQueue = (queue: string): string => `${queue}.dead`;

/** Queue and exchange of one level of the chain of delays. */
export const delayName = (queue: string, level: number): string => `${queue}.delay.${level}`;

/** Holds one message: the checkpoint of this name. */
export const checkpointQueue = (name: string): string => `checkpoint.${name}`;
