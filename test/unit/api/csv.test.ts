import { csvLine } from '#app/api/csv.js';

test('cells with commas, quotation marks or line ends are quoted, and none is a formula', () => {
  expect(csvLine(['a', 'b,c', 'say "hi"', 'two\nlines', ''])).toBe('a,"b,c","say ""hi""","two\nlines",\r\n');
  expect(csvLine(['=1+1', '+1', '-1', '@x', '1-1'])).toBe("'=1+1,'+1,'-1,'@x,1-1\r\n");
});
