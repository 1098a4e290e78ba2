.headers on
.bail off
CREATE TABLE part(id INTEGER PRIMARY KEY, name TEXT NOT NULL, weight REAL, picture BLOB, parent REFERENCES part(id));
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<300)
INSERT INTO part SELECT i, 'part ' || char(64+i%26) || char(228) || replace(hex(i),'3','"') || ' ''' || i, i*i/7.0-1e-3/i, CASE WHEN i%3 THEN bytes ELSE NULL END, i/2 FROM (SELECT i, CAST(char(i%128)||x'00ff' AS BLOB) AS bytes FROM n);
INSERT INTO part VALUES(1000,'tab	newline
comma, quote"',1e300,x'',NULL),(1001,'',-0.0,x'000102',7),(-9223372036854775807,'least',9e999,NULL,1);
.mode csv
SELECT * FROM part WHERE id<20 OR id>290;
.mode quote
SELECT * FROM part WHERE id<20 OR id>290;
.mode json
SELECT id, name, weight, hex(picture) AS picture FROM part WHERE id%7=0;
.mode json
SELECT picture FROM part WHERE id%50=0;
.mode insert part
SELECT * FROM part WHERE id%5=0;
.mode line
SELECT * FROM part WHERE id%60=0;
.mode html
SELECT * FROM part WHERE id%60=0;
.mode tcl
SELECT * FROM part WHERE id%60=0;
.mode ascii
SELECT name FROM part WHERE id%60=0;
.mode column
.width 5 -20 12 6
SELECT * FROM part WHERE id%40=0;
.mode table
SELECT id,name,weight FROM part WHERE id%40=0;
.mode box --wrap 10
SELECT id,name,weight FROM part WHERE id%40=0;
.mode markdown
SELECT id,name,weight FROM part WHERE id%40=0;
.mode list
.separator "|" "\r\n"
SELECT id,name,weight FROM part WHERE id%40=0;
SELECT printf('%08.3f|%-10s|%x|%,d|%!.20g|%e|%q|%Q|%w', weight, name, id, id*1000003, weight, weight, name, name, name) FROM part WHERE id%9=0;
EXPLAIN SELECT p.name, count(*) FROM part p JOIN part c ON c.parent=p.id GROUP BY 1 ORDER BY 2 DESC;
EXPLAIN QUERY PLAN SELECT p.name, count(*) FROM part p JOIN part c ON c.parent=p.id GROUP BY 1 ORDER BY 2 DESC;
.mode list
.separator | \n
.dump
.schema
.fullschema
.tables
.indexes
.sha3sum
.limit
.dbconfig
.dbinfo
.lint fkey-indexes
.selftest --init
.selftest
.show
.help
.recover
SELECT nothing FROM nowhere;
SELECT 'unfinished
;
.width a b
.print "bye\t\\"
