-- Prints what Lua formats with C's printf: numbers of every size, `string.format`, dates, messages of errors. The output
-- of a plain Lua and of one that qrintf-cc built must be the same.

local values = { 0, 1, -1, 9, 10, 99, 100, 255, 65535, 2147483647, -2147483648, 4294967296,
    math.maxinteger, math.mininteger, 0.0, -0.0, 0.1, 0.5, 1.5, 2.5, 1e15, 1e16, 1e17, 1e100, 1e-5, 123456.789,
    1 / 3, 2 ^ 53, 2 ^ 63, 1 / 0, -1 / 0, 5e-324, 1.7976931348623157e308, math.pi, 99999.5, 999999.5 }

local state = 42
local function random()
    state = (state * 6364136223846793005 + 1442695040888963407)
    return state
end
for _ = 1, 2000 do
    values[#values + 1] = random() >> (random() & 63)
    values[#values + 1] = (random() >> 11) / (1 << (random() & 63))
end

for _, value in ipairs(values) do
    print(value, tostring(value), value .. "", -value)
    io.write(value, " ", string.format("%.14g %.3f %5.1f %e %g %a", value, value, value, value, value, value), "\n")
    local integer = math.tointeger(value)
    if integer then
        print(string.format("%d %5d %-8d| %08d %+d %x %X %#o %i %c", integer, integer, integer, integer, integer, integer,
            integer, integer, integer, integer & 127))
    end
    print(string.format("%q %s %10s %-10s| %.3s", value, value, value, value, "abcdef"))
end

print(pcall(string.format, "%d", 1.5))
print(pcall(string.format, "%y", 1))
print(pcall(string.rep, "x", -1))
print(pcall(function() return nil + 1 end))
print(pcall(function() return #5 end))
print(select("#", load("x = = 1")), select(2, load("x = = 1", "chunk")))
print(pcall(error, { code = 2 }) and 1, select(2, pcall(error, "message", 0)))
print(os.date("!%Y-%m-%d %H:%M:%S", 86400 * 365))
print(string.format("%-5s|%5s|%%|%q", "ab", "cd", "line\nquote\"\0end"))
print(table.concat({ 1, 2.5, "three", 1e300 }, ","))
print(utf8.char(228, 8364, 128512), string.pack("i4", 7):byte(1, -1))
