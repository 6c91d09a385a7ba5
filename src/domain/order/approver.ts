/** Who approved an order, as the export shows it (spec §2.3). */
export type Approver = {
  readonly id: number;
  readonly first_name: string;
  readonly last_name: string;
  readonly locale: string;
  readonly email: string;
};
